#pragma once

// Compares the scores of cuda/kernels/group_scores.h with those of the fp64 reference.

#include "core/attention_views.h"
#include "verify/comparison.h"
#include "verify/kernels/kernel_calls.h"
#include "verify/simt/executor/arithmetic.h"

namespace recto::verify {

// Expects each score within its probabilistic bound, which holds for tensor cores that sum as
// `arithmetic` says, and elements beyond a context unchanged. O(num_q_heads head_dim) per token.
Comparison compare_scores(const PagedAttentionInputs& inputs, const ScoreResults& results,
                          const simt::Arithmetic& arithmetic);

}  // namespace recto::verify
