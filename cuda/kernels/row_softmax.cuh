#pragma once

// Online softmax of sixteen rows by one warp, from fragments of scores to fragments of weights.

#include <kernel_dialect.h>

#include <cmath>

#include "cuda/kernels/decode_row.cuh"
#include "cuda/kernels/row_fragment.cuh"

namespace recto::kernels {

// A lane's state of its two rows; half 0 is row g, half 1 is row g + 8.
template <int kHeadDim>
struct RowStates {
  float maximum[2] = {-INFINITY, -INFINITY};
  float sum[2] = {0.0F, 0.0F};  // over the lane's own columns, until close()
  Fragment weighted[kHeadDim / 8] = {};

  __device__ void close() {
    for (float& part : sum) part = row_sum(part);
  }
};

// The rows of a lane: their score rules and visible keys.
struct RowRules {
  ScoreRule rule[2];
  KeyRange visible[2];
};

// Converts the scores of keys from position `first` on to weights relative to the rows' maxima. If
// the maxima grow, the states are rescaled.
template <int kHeadDim, int kBlocks>
__device__ inline void weigh(const RowRules& rows, int first, int lane, Fragment (&scores)[kBlocks],
                             RowStates<kHeadDim>& states) {
  float maximum[2] = {-INFINITY, -INFINITY};
  for (int block = 0; block < kBlocks; ++block) {
    for (int i = 0; i < 4; ++i) {
      const int half = i / 2;
      const int position = first + block * 8 + fragment_column(lane, i);
      float& score = scores[block][i];
      score = rows.visible[half].has(position) ? rows.rule[half].score(score, position) : -INFINITY;
      maximum[half] = fmaxf(maximum[half], score);
    }
  }
  for (int half = 0; half < 2; ++half) {
    maximum[half] = fmaxf(states.maximum[half], row_max(maximum[half]));
  }
  // Most tiles have no larger score than those before them; one vote detects that.
  if (__any_sync(kAllLanes, maximum[0] > states.maximum[0] || maximum[1] > states.maximum[1])) {
    float factor[2];
    for (int half = 0; half < 2; ++half) {
      // A row that has seen nothing yet has nothing to rescale.
      factor[half] =
          states.maximum[half] == -INFINITY ? 0.0F : expf(states.maximum[half] - maximum[half]);
      states.maximum[half] = maximum[half];
      states.sum[half] *= factor[half];
    }
    for (Fragment& sums : states.weighted) {
      for (int i = 0; i < 4; ++i) sums[i] *= factor[i / 2];
    }
  }
  for (int block = 0; block < kBlocks; ++block) {
    for (int i = 0; i < 4; ++i) {
      const float own_maximum = states.maximum[i / 2];
      const float score = scores[block][i];
      const float weight = score == -INFINITY ? 0.0F : expf(score - own_maximum);
      scores[block][i] = weight;
      states.sum[i / 2] += weight;
    }
  }
}

}  // namespace recto::kernels
