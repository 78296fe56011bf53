#pragma once

// Online softmax of sixteen rows by one warp, from fragments of scores to fragments of weights,
// without a branch for each score. A weight is 2^(factor * score - maximum): the factor has log2(e)
// in it, and for scores that are products times a scale the scale too, so that such products need
// no multiplication of their own. The multiplication and the subtraction are one FMA.

#include <kernel_dialect.h>
#include <kernel_ptx.h>

#include <cmath>

#include "cuda/kernels/row_fragment.cuh"

namespace recto::kernels {

inline constexpr float kLog2E = 1.44269504F;
inline constexpr float kLn2 = 0.693147181F;

// The maximum of a row that has seen no score. It is finite, so that a score of -infinity, which is
// that of a hidden key, gets the weight 0 like any other score far below the maximum.
inline constexpr float kNoMaximum = -3.4028234e38F;

// A lane's state of its two rows; half 0 is row g, half 1 is row g + 8.
template <int kHeadDim>
struct RowStates {
  float maximum[2] = {kNoMaximum, kNoMaximum};  // of factor * score, until close()
  float sum[2] = {0.0F, 0.0F};                  // over the lane's own columns, until close()
  Fragment weighted[kHeadDim / 8] = {};

  // Completes the sums, and turns the maxima into those of the scores' natural exponents.
  __device__ void close() {
    for (int half = 0; half < 2; ++half) {
      sum[half] = row_sum(sum[half]);
      maximum[half] = maximum[half] == kNoMaximum ? -INFINITY : maximum[half] * kLn2;
    }
  }

  // Expresses the states relative to the maxima of `own` and of the states.
  __device__ void raise_maxima(const float (&own)[2]) {
    float rescale[2];
    for (int half = 0; half < 2; ++half) {
      const float raised = fmaxf(maximum[half], row_max(own[half]));
      rescale[half] = fast_exp2(maximum[half] - raised);
      maximum[half] = raised;
      sum[half] *= rescale[half];
    }
    for (Fragment& sums : weighted) {
      for (int i = 0; i < 4; ++i) sums[i] *= rescale[i / 2];
    }
  }
};

// Converts a tile's scores to weights relative to the rows' maxima. factor: above 0 and finite.
template <int kHeadDim, int kBlocks>
__device__ inline void weigh_scores(float factor, Fragment (&scores)[kBlocks],
                                    RowStates<kHeadDim>& states) {
  float own[2] = {scores[0][0], scores[0][2]};
  for (const Fragment& block : scores) {
    for (int i = 0; i < 4; ++i) own[i / 2] = fmaxf(own[i / 2], block[i]);
  }
  for (float& maximum : own) maximum = __fmul_rn(maximum, factor);
  // Most tiles have no larger score than those before them; one vote detects that.
  if (__any_sync(kAllLanes, own[0] > states.maximum[0] || own[1] > states.maximum[1])) {
    states.raise_maxima(own);
  }
  for (Fragment& block : scores) {
    for (int i = 0; i < 4; ++i) {
      block[i] = fast_exp2(__fmaf_rn(block[i], factor, -states.maximum[i / 2]));
      states.sum[i / 2] += block[i];
    }
  }
}

}  // namespace recto::kernels
