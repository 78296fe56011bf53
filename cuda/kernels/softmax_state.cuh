#pragma once

// The state (m, l, o) of one query row after some of its keys, which allows softmax to be computed
// in any number of parts, without all scores at once.

#include <kernel_dialect.h>

#include <cmath>

namespace recto::kernels {

// o is distributed over threads: each holds `kDims` of its dims, and all hold m and l. The
// default-constructed state is that of no keys.
template <int kDims>
struct SoftmaxState {
  float maximum = -INFINITY;  // m: largest score
  float sum = 0.0F;           // l: sum of exp(score - m)
  // o: sum of exp(score - m) v, not normalised. Four elements are moved at once.
  alignas(kDims % 4 == 0 ? 16 : 4) float weighted[kDims] = {};

  // Expresses the state relative to another maximum, which must not be smaller.
  __device__ void rescale(float new_maximum) {
    const float factor = expf(maximum - new_maximum);
    maximum = new_maximum;
    sum *= factor;
    for (float& value : weighted) value *= factor;
  }
};

// `lead` has the larger maximum, or both are equal.
template <int kDims>
__device__ inline SoftmaxState<kDims> absorb(SoftmaxState<kDims> lead,
                                             const SoftmaxState<kDims>& rest) {
  if (rest.maximum == -INFINITY) return lead;
  const float factor = expf(rest.maximum - lead.maximum);
  lead.maximum = fmaxf(lead.maximum, rest.maximum);  // the larger one; +0 for +0 and -0
  lead.sum += factor * rest.sum;
  for (int i = 0; i < kDims; ++i) lead.weighted[i] += factor * rest.weighted[i];
  return lead;
}

// The state of both sets of keys. Commutative, and the state of no keys leaves the other one
// unchanged, bit for bit: for that, the state with the larger maximum is not multiplied at all. (In
// a sum of two products, nvcc contracts one product with the addition, so one product would round
// twice and the other once.)
template <int kDims>
__device__ inline SoftmaxState<kDims> merge(const SoftmaxState<kDims>& a,
                                            const SoftmaxState<kDims>& b) {
  return a.maximum >= b.maximum ? absorb(a, b) : absorb(b, a);
}

// A sink is a key with a score and no value. It is merged once, at the end.
template <int kDims>
__device__ inline SoftmaxState<kDims> sink_state(float sink) {
  SoftmaxState<kDims> state;
  state.maximum = sink;
  state.sum = 1.0F;
  return state;
}

// Without keys l is 0: then the row is 0, and its log-sum-exp is that of no keys.
__device__ inline float normalised(float weighted, float sum) {
  return sum == 0.0F ? 0.0F : weighted / sum;
}

template <int kDims>
__device__ inline float lse_ln_of(const SoftmaxState<kDims>& state) {
  return state.sum == 0.0F ? -INFINITY : state.maximum + logf(state.sum);
}

}  // namespace recto::kernels
