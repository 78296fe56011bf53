#pragma once

// Which keys a row sees and how their products become scores, for the softmax of row_weights.cuh.

#include <kernel_dialect.h>

#include <cmath>

#include "cuda/kernels/decode_row.cuh"
#include "cuda/kernels/row_fragment.cuh"
#include "cuda/kernels/row_weights.cuh"

namespace recto::kernels {

// The rows of a lane: their score rules and visible keys.
struct RowRules {
  ScoreRule rule[2];
  KeyRange visible[2];
  // 0 unless scores are products times this; see plain_factor_of().
  float plain_factor;
};

// The factor of weigh_scores() for products whose scores are `scale` times the products and nothing
// else; 0 if there are others, or if the factor would not be finite and above 0. Whether it is 0
// depends on the options alone, so it is the same for all rows of a call.
__host__ __device__ inline float plain_factor_of(const AttentionOptions& options, float scale) {
  const float factor = scale * kLog2E;
  const bool is_plain = options.softcap == 0.0F && options.alibi_slopes.empty();
  return is_plain && factor > 0.0F && factor < INFINITY ? factor : 0.0F;
}

// Sets the scores of hidden keys to -infinity. The tile's first key is at position `first`.
template <int kBlocks>
__device__ inline void hide_unseen(const RowRules& rows, int first, int lane,
                                   Fragment (&scores)[kBlocks]) {
  for (int block = 0; block < kBlocks; ++block) {
    for (int i = 0; i < 4; ++i) {
      const int position = first + block * 8 + fragment_column(lane, i);
      if (!rows.visible[i / 2].has(position)) scores[block][i] = -INFINITY;
    }
  }
}

// Converts products of queries and keys to weights relative to the rows' maxima. If the maxima
// grow, the states are rescaled. The first key is at position `first`;
// all rows see the keys of seen_by_all.
template <int kHeadDim, int kBlocks>
__device__ inline void weigh(const RowRules& rows, int first, const KeyRange& seen_by_all, int lane,
                             Fragment (&scores)[kBlocks], RowStates<kHeadDim>& states) {
  const bool is_plain = rows.plain_factor > 0.0F;
  if (!is_plain) {
    for (int block = 0; block < kBlocks; ++block) {
      for (int i = 0; i < 4; ++i) {
        const int position = first + block * 8 + fragment_column(lane, i);
        scores[block][i] = rows.rule[i / 2].score(scores[block][i], position);
      }
    }
  }
  if (!seen_by_all.has_all(first, 8 * kBlocks)) hide_unseen(rows, first, lane, scores);
  weigh_scores(is_plain ? rows.plain_factor : kLog2E, scores, states);
}

}  // namespace recto::kernels
