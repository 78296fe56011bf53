#pragma once

// Online softmax as weigh_scores() of row_weights.cuh, in two parts: a tile's scores become weights
// while P V of the tile before is still being added to o, and o is rescaled after that.

#include <kernel_dialect.h>
#include <kernel_ptx.h>

#include <cmath>

#include "cuda/kernels/row_weights.cuh"

namespace recto::kernels {

// The factors by which o of a lane's rows must be rescaled, if a maximum of the warp has grown.
struct RowGrowth {
  bool has_grown = false;
  float rescale[2] = {};

  template <int kHeadDim>
  __device__ void apply(RowStates<kHeadDim>& states) const {
    if (!has_grown) return;
#pragma unroll
    for (int block = 0; block < kHeadDim / 8; ++block) {
#pragma unroll
      for (int i = 0; i < 4; ++i) states.weighted[block][i] *= rescale[i / 2];
    }
  }
};

// Raises the rows' maxima to those of a tile's scores, and rescales l, but not o. factor: above 0
// and finite.
template <int kHeadDim, int kBlocks>
__device__ inline RowGrowth grow_maxima(float factor, const Fragment (&scores)[kBlocks],
                                        RowStates<kHeadDim>& states) {
  float own[2] = {scores[0][0], scores[0][2]};
#pragma unroll
  for (int block = 0; block < kBlocks; ++block) {
#pragma unroll
    for (int i = 0; i < 4; ++i) own[i / 2] = fmaxf(own[i / 2], scores[block][i]);
  }
  for (float& maximum : own) maximum = __fmul_rn(maximum, factor);
  RowGrowth growth;
  growth.has_grown =
      __any_sync(kAllLanes, own[0] > states.maximum[0] || own[1] > states.maximum[1]);
  if (!growth.has_grown) return growth;
  for (int half = 0; half < 2; ++half) {
    const float raised = fmaxf(states.maximum[half], row_max(own[half]));
    growth.rescale[half] = fast_exp2(states.maximum[half] - raised);
    states.maximum[half] = raised;
    states.sum[half] *= growth.rescale[half];
  }
  return growth;
}

// Converts a tile's scores to weights relative to the rows' maxima.
template <int kHeadDim, int kBlocks>
__device__ inline void to_weights(float factor, Fragment (&scores)[kBlocks],
                                  RowStates<kHeadDim>& states) {
#pragma unroll
  for (int block = 0; block < kBlocks; ++block) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      float& score = scores[block][i];
      score = fast_exp2(__fmaf_rn(score, factor, -states.maximum[i / 2]));
      states.sum[i / 2] += score;
    }
  }
}

}  // namespace recto::kernels
