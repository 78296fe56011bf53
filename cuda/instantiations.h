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

// A row for each kernel, type of q and type of the cache, in Markdown.
std::string instantiation_table();

}  // namespace recto
