#pragma once

// How the kernels of cuda/kernels compute, for deriving the bounds.

#include <cstdint>

#include "core/element_type.h"
#include "cuda/attention_plan.h"
#include "reference/numerics.h"

namespace recto::verify {

// For paged decode; split_size 0 means without splits.
reference::KernelNumerics decode_kernel_numerics(ElementType q_type, ElementType kv_type,
                                                 std::int64_t split_size);

reference::KernelNumerics gqa_decode_numerics(ElementType q_type, ElementType kv_type,
                                              std::int64_t split_size);

// As planned: see kernels::SplitRule.
reference::KernelNumerics in_planned_splits(reference::KernelNumerics numerics,
                                            const AttentionPlan& plan);

reference::KernelNumerics prefill_numerics(ElementType q_type, ElementType kv_type,
                                           std::int64_t head_dim);

}  // namespace recto::verify
