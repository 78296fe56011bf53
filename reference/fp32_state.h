#pragma once

// Partial softmax states (m, l, o) in fp32, as kernels hold and merge them.

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "reference/fp32_arithmetic.h"
#include "reference/online_softmax.h"

namespace recto::reference {

inline constexpr float kLog2E = 1.44269504F;

struct Fp32State {
  Fp32Arithmetic arithmetic = {};
  float maximum = -std::numeric_limits<float>::infinity();  // m, times log2(e) in base 2
  float sum = 0.0F;                                         // l
  std::vector<float> weighted;                              // o, [head_dim_v]

  Fp32State(std::int64_t head_dim_v, const Fp32Arithmetic& arithmetic_of_all);

  // The state of a sink: a key whose value is 0.
  static Fp32State of_sink(std::int64_t head_dim_v, float sink, const Fp32Arithmetic& arithmetic);

  void rescale(float new_maximum);
  float lse_ln() const;
};

void merge_into(Fp32State& whole, Fp32State part);

// Divides by the sum and returns the log-sum-exp; 0 and -inf if there are no keys.
float finish(const Fp32State& state, std::span<float> out);  // [head_dim_v]

// Normalises each part and combines the parts by log-sum-exp, as FlashAttention does with its
// splits: the sum of exp(lse_k - lse) out_k, without a further division. Returns lse.
float combine_normalised(std::span<const Fp32State> parts, std::span<float> out);  // [head_dim_v]

// merge() in fp32.
SoftmaxState merge_in_fp32(const SoftmaxState& a, const SoftmaxState& b);

}  // namespace recto::reference
