#pragma once

// What kernels are instantiated for, as text.

#include <kernel_dialect.h>

#include <string>

#include "core/attention_views.h"
#include "core/status.h"
#include "cuda/attention_plan.h"

namespace recto {

// Invalid input that lists what there is, if the kernel has no instantiation for the types and head
// dims of these inputs.
Status check_instantiated(AttentionKernel kernel, const PagedAttentionInputs& inputs);

// In Markdown: a row for each kernel of a table, type of q and type of the cache; then one for each
// kernel that is instantiated for types alone, with all pairs that its check lets through.
std::string instantiation_table();

}  // namespace recto
