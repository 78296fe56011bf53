#pragma once

// One query head of one sequence, as the thread block sees it that computes its attention: where
// its query and its keys lie, which keys it sees, and how a product becomes a score.

#include <kernel_dialect.h>

#include <cmath>
#include <cstdint>

#include "cuda/kernels/block_cursor.cuh"
#include "cuda/kernels/paged_decode.h"

namespace recto::kernels {

// From q.k to the score, see core/attention_views.h.
struct ScoreRule {
  float scale;
  float softcap;
  float alibi_slope;
  int newest;  // position of the query

  __device__ float score(float product, int position) const {
    float score = product * scale;
    if (softcap > 0.0F) score = softcap * tanhf(score / softcap);
    if (alibi_slope != 0.0F) score += alibi_slope * static_cast<float>(position - newest);
    return score;
  }
};

// Positions [begin, end) of a sequence.
struct KeyRange {
  int begin;
  int end;

  __device__ int size() const { return end - begin; }
};

__device__ inline KeyRange visible_keys(const PagedDecodeParams& params, std::int64_t sequence) {
  const int end = params.context_length[sequence];
  return {params.options.window < end ? end - static_cast<int>(params.options.window) : 0, end};
}

template <typename Element>
struct DecodeRow {
  const Element* query;   // [head_dim_k]
  const Element* keys;    // the whole tensor
  const Element* values;  // likewise
  HeadOffsets key_offsets;
  HeadOffsets value_offsets;
  int head_dim_k;
  int head_dim_v;
  BlockCursor cursor;
  ScoreRule rule;
};

template <typename Element>
__device__ inline DecodeRow<Element> decode_row(const PagedDecodeParams& params,
                                                std::int64_t sequence, std::int64_t head) {
  const KvTensorView& k = params.kv.k;
  const KvTensorView& v = params.kv.v;
  const DecodeOptions& options = params.options;
  const std::int64_t kv_head = head / (params.q.num_heads / k.num_kv_heads);
  return {static_cast<const Element*>(params.q.data) + sequence * params.q.row_stride +
              head * params.q.head_stride,
          static_cast<const Element*>(k.data),
          static_cast<const Element*>(v.data),
          head_offsets(k, kv_head),
          head_offsets(v, kv_head),
          static_cast<int>(k.head_dim),
          static_cast<int>(v.head_dim),
          cursor_of(params.block_table, static_cast<int>(k.block_size), sequence),
          {options.scale, options.softcap,
           options.alibi_slopes == nullptr ? 0.0F : options.alibi_slopes[head],
           params.context_length[sequence] - 1}};
}

}  // namespace recto::kernels
