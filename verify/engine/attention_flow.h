#pragma once

// Attention of the dense run over a whole text, and how far the kernels and the errors of q, K and
// V may move it.

#include <vector>

#include "reference/numerics.h"
#include "verify/engine/model_shape.h"
#include "verify/engine/rounding_flow.h"

namespace recto::verify {

struct AttentionFlows {
  const Flow& q;  // [tokens, q_size]
  const Flow& k;  // [tokens, kv_size]
  const Flow& v;  // [tokens, kv_size]
};

// Causal, scaled by 1 / sqrt(head_dim): [tokens, q_size]. Any of `kernels` may compute a row; the
// worst of them is charged.
Flow attention_flow(const AttentionFlows& inputs, const ModelShape& shape,
                    const std::vector<reference::KernelNumerics>& kernels);

// That scale, in the form that the host API takes.
float attention_scale(const ModelShape& shape);

}  // namespace recto::verify
