#pragma once

// Lists the types and head dims that kernels are instantiated for, as text.

#include <kernel_dialect.h>

#include <string>

#include "core/attention_views.h"
#include "core/status.h"
#include "cuda/attention_plan.h"

namespace recto {

// Returns invalid input that lists the instantiations if the kernel has none for the types and head
// dims of `inputs`.
Status check_instantiated(AttentionKernel kernel, const PagedAttentionInputs& inputs);

// Markdown: a row for each combination of a kernel with a table, a type of q and a type of the
// cache; then a row for each kernel that is instantiated by types alone, with all pairs that its
// check accepts.
std::string instantiation_table();

}  // namespace recto
