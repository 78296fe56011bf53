#pragma once

// Numbers of the dense run, and how far a correct engine's may be from them: each number has a
// standard deviation, which is propagated with it. Errors of different numbers are assumed to be
// independent, as in the probabilistic bounds of reference/error_bound.h. Propagation is to first
// order.
//
// Both sides compute everything except attention in fp64, so errors come from only two places:
// kernels, and stores, where slightly different numbers may be rounded a whole step apart.

#include <vector>

#include "core/element_type.h"
#include "reference/dense_attention.h"
#include "reference/numerics.h"
#include "verify/engine/model.h"

namespace recto::verify {

// The largest error allowed, in deviations. A correct, normally distributed error exceeds it with a
// probability of 2e-9.
inline constexpr double kFlowLambda = 6.0;

struct Flow {
  reference::Matrix value;      // [rows, size]
  reference::Matrix deviation;  // [rows, size]; empty if errors are not followed

  bool is_followed() const { return deviation.size() != 0; }
};

enum class Following { kNo, kYes };

// Exact numbers, charged with the fp64 errors of a different order of operations.
Flow exact_flow(reference::Matrix value, Following following);

// x W^T, with W as [outputs, inputs].
Flow linear(const Flow& x, const reference::Matrix& weights);

// Normalises each run of gains.size() numbers in a row: divides by the root mean square and
// multiplies by the gains.
Flow rms_norm(const Flow& x, const reference::Vector& gains, double epsilon);

Flow add(const Flow& a, const Flow& b);

// silu(gate) * up.
Flow swiglu(const Flow& gate, const Flow& up);

// Rotates heads of head_dim numbers, with row r at position r, in pairs p and p + head_dim / 2.
Flow rotate_heads(const Flow& x, std::int64_t head_dim, double base);

// Rounds the numbers to a type; in fp8, to multiples of the scale. If a number cannot cross a
// rounding boundary within its error, the error vanishes; otherwise a whole step is charged.
Flow store(const Flow& x, ElementType type, float scale = 1.0F);

struct AttentionFlows {
  const Flow& q;  // [tokens, q_size]
  const Flow& k;  // [tokens, kv_size]
  const Flow& v;  // [tokens, kv_size]
};

// Causal attention over a whole text, with the model's scale: [tokens, q_size]. Any of `kernels`
// may compute a row; the worst one is charged.
Flow attention_flow(const AttentionFlows& inputs, const ModelShape& shape,
                    const std::vector<reference::KernelNumerics>& kernels);

}  // namespace recto::verify
