#pragma once

// One query head of one sequence, as seen by the thread block that computes its attention: the
// places of its query and keys, the visible keys, and the conversion of a product to a score.

#include <kernel_dialect.h>

#include <cmath>
#include <cstdint>

#include "cuda/kernels/block_cursor.cuh"
#include "cuda/kernels/element.cuh"
#include "cuda/kernels/kv_scale.cuh"
#include "cuda/kernels/reference_decode.h"
#include "cuda/kernels/row_access.cuh"

namespace recto::kernels {

// How q.k becomes a score; see core/attention_views.h.
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
  __device__ bool has(int position) const { return position >= begin && position < end; }
  __device__ bool has_all(int first, int count) const {
    return first >= begin && first + count <= end;
  }
};

__device__ inline KeyRange visible_keys(const ReferenceDecodeParams& params,
                                        std::int64_t sequence) {
  const int end = params.context_length[sequence];
  const std::int64_t window = params.options.window.value_or(end);
  return {window < end ? end - static_cast<int>(window) : 0, end};
}

// One KV head of K, or of V.
template <typename Access, typename Element>
struct CachedHead {
  const Element* tensor;  // from its first element on
  HeadOffsets offsets;    // of the head's slots
  Access access;
  int head_dim;
  float scale;

  // Four dims of the slot at `offset`, in fp32.
  __device__ Four<float> load(std::int64_t offset, int dim) const {
    return dequantise_four(access.load(tensor + offset, dim, head_dim), scale);
  }
};

template <typename Access, typename Element>
__device__ inline CachedHead<Access, Element> cached_head(const KvTensorView& tensor,
                                                          std::int64_t head) {
  return {static_cast<const Element*>(tensor.data), head_offsets(tensor, head),
          Access::template of<Element>(tensor), static_cast<int>(tensor.head_dim),
          scale_of<Element>(tensor, head)};
}

template <typename Access, typename Query, typename Cached>
struct DecodeRow {
  const Query* query;  // [head_dim of K]
  CachedHead<Access, Cached> keys;
  CachedHead<Access, Cached> values;
  BlockCursor cursor;
  ScoreRule rule;
};

template <typename Access, typename Query, typename Cached>
__device__ inline DecodeRow<Access, Query, Cached> decode_row(const ReferenceDecodeParams& params,
                                                              std::int64_t sequence,
                                                              std::int64_t head) {
  const KvTensorView& k = params.kv.k;
  const AttentionOptions& options = params.options;
  const std::int64_t kv_head = head / (params.q.num_heads / k.num_kv_heads);
  return {static_cast<const Query*>(params.q.data) + sequence * params.q.row_stride +
              head * params.q.head_stride,
          cached_head<Access, Cached>(k, kv_head),
          cached_head<Access, Cached>(params.kv.v, kv_head),
          cursor_of(params.block_table, static_cast<int>(k.block_size), sequence),
          {options.scale, options.softcap,
           options.alibi_slopes.empty() ? 0.0F : options.alibi_slopes[head],
           params.context_length[sequence] - 1}};
}

}  // namespace recto::kernels
