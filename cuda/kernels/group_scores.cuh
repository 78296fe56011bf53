#pragma once

// The scores of a group as a matrix product: rows are heads and columns are keys, so each key is
// read once for all heads. Each warp processes every fourth tile of sixteen keys and copies the
// next tile while it multiplies the current one. It waits only for its own lanes, except for the
// queries, which all warps share.

#include <kernel_dialect.h>
#include <kernel_ptx.h>

#include <cstddef>
#include <cstdint>

#include "cuda/kernels/block_cursor.cuh"
#include "cuda/kernels/group_scores.h"
#include "cuda/kernels/row_tile.cuh"
#include "cuda/kernels/warp.cuh"

namespace recto::kernels {

inline constexpr int kScoreWarps = 4;
inline constexpr int kScoreThreads = kScoreWarps * kWarpLanes;
inline constexpr int kScoreRound = kScoreWarps * kTileRows;  // keys: a tile for each warp
inline constexpr int kScoreBuffers = 2;                      // per warp: one in flight, one read

static_assert(kGroupMax == kTileRows, "one tile holds the queries of a group");
static_assert(kScoreThreads == kTileRows * kCopyLanes, "a thread block copies the queries at once");

// Elements of dynamic shared memory: the tile of queries, then those of keys, warp by warp.
constexpr std::size_t score_shared_elements(int head_dim) {
  constexpr int kTiles = 1 + kScoreWarps * kScoreBuffers;
  return static_cast<std::size_t>(kTiles * kTileRows * row_tile_stride(head_dim));
}

// The work of one thread block.
template <typename Element>
struct Group {
  const Element* queries;  // [num_heads, head_dim]
  std::int64_t query_stride;
  int num_heads;
  const Element* keys;  // the whole tensor
  HeadOffsets key_offsets;
  BlockCursor cursor;
  int num_keys;
  int head_dim;
  float scale;
  float* scores;  // [num_heads, num_keys]
  std::int64_t score_stride;
};

template <typename Element>
__device__ inline Group<Element> group_of(const GroupScoresParams& params, std::int64_t sequence,
                                          std::int64_t kv_head) {
  const std::int64_t num_heads = params.q.num_heads / params.k.num_kv_heads;
  const std::int64_t head = kv_head * num_heads;
  return {static_cast<const Element*>(params.q.data) + sequence * params.q.row_stride +
              head * params.q.head_stride,
          params.q.head_stride,
          static_cast<int>(num_heads),
          static_cast<const Element*>(params.k.data),
          head_offsets(params.k, kv_head),
          cursor_of(params.block_table, static_cast<int>(params.k.block_size), sequence),
          params.context_length[sequence],
          static_cast<int>(params.k.head_dim),
          params.scale,
          params.scores + (sequence * params.q.num_heads + head) * params.max_context_length,
          params.max_context_length};
}

// Must be called by the whole thread block. Rows beyond the group are zeros.
template <typename Element>
__device__ inline void copy_queries_async(const Group<Element>& group,
                                          const RowTile<Element>& tile) {
  const int thread = static_cast<int>(threadIdx.x);
  const int head = thread / kCopyLanes;
  const bool is_there = head < group.num_heads;
  copy_row_async(group.queries + (is_there ? head : 0) * group.query_stride,
                 is_there ? kUnitBytes : 0, group.head_dim, thread % kCopyLanes, tile.row(head));
}

// Copies keys from `first` on, by one warp. Rows beyond the context are zeros; `first` is within
// it.
template <typename Element>
__device__ inline void copy_keys_async(const Group<Element>& group, int first,
                                       const RowTile<Element>& tile) {
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  for (int row = lane / kCopyLanes; row < kTileRows; row += kWarpLanes / kCopyLanes) {
    const int position = first + row;
    const bool is_there = position < group.num_keys;
    // The table is read, and an address computed, only for existing keys.
    const Slot slot = group.cursor.slot_of(is_there ? position : first);
    copy_row_async(group.keys + group.key_offsets.of(slot), is_there ? kUnitBytes : 0,
                   group.head_dim, lane % kCopyLanes, tile.row(row));
  }
}

// Products of a tile of keys with all queries, by one warp; column c of sums[n] is key 8 n + c.
template <typename Element>
__device__ inline void multiply(const RowTile<Element>& queries, const RowTile<Element>& keys,
                                int head_dim, float (&sums)[2][4]) {
  for (int dim = 0; dim < head_dim; dim += kStepDims) {
    unsigned a[4];
    unsigned b[4];
    load_fragment(a, queries, dim);
    load_fragment(b, keys, dim);
    const unsigned lower[2] = {b[0], b[2]};
    const unsigned upper[2] = {b[1], b[3]};
    multiply_accumulate_m16n8k16<Element>(sums[0], a, lower);
    multiply_accumulate_m16n8k16<Element>(sums[1], a, upper);
  }
}

// Each lane stores its own elements of a product; see kernel_ptx.h.
template <typename Element>
__device__ inline void store_scores(const Group<Element>& group, int first,
                                    const float (&sums)[2][4]) {
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  for (int half = 0; half < 2; ++half) {
    for (int i = 0; i < 4; ++i) {
      const int head = lane / 4 + i / 2 * 8;
      const int position = first + half * 8 + lane % 4 * 2 + i % 2;
      if (head < group.num_heads && position < group.num_keys) {
        group.scores[head * group.score_stride + position] = group.scale * sums[half][i];
      }
    }
  }
}

// Grid: (num_seqs, num_kv_heads). Dynamic shared memory: score_shared_elements() elements.
template <typename Element>
__global__ void __launch_bounds__(kScoreThreads) group_scores(const GroupScoresParams params) {
  KERNEL_DYNAMIC_SHARED(unsigned char, shared);
  const Group<Element> group = group_of<Element>(params, blockIdx.x, blockIdx.y);
  const int warp = static_cast<int>(threadIdx.x) / kWarpLanes;
  const int stride = row_tile_stride(group.head_dim);
  const auto tile = [&](int index) {
    return RowTile<Element>{reinterpret_cast<Element*>(shared) + index * kTileRows * stride,
                            stride};
  };
  const RowTile<Element> queries = tile(0);
  const int first_buffer = 1 + warp * kScoreBuffers;

  // Commits, in order: the queries, then one tile of keys at a time, or nothing after the last
  // tile. So the wait is always for all commits except the last one.
  copy_queries_async(group, queries);
  commit_copies();
  int first = warp * kTileRows;
  if (first < group.num_keys) copy_keys_async(group, first, tile(first_buffer));
  commit_copies();
  wait_for_copies<1>();
  __syncthreads();

  for (int buffer = 0; first < group.num_keys; first += kScoreRound, buffer ^= 1) {
    const int next = first + kScoreRound;
    if (next < group.num_keys) copy_keys_async(group, next, tile(first_buffer + (buffer ^ 1)));
    commit_copies();
    wait_for_copies<1>();
    __syncwarp();  // the copies of the other lanes have arrived as well
    float sums[2][4] = {};
    multiply(queries, tile(first_buffer + buffer), group.head_dim, sums);
    store_scores(group, first, sums);
    __syncwarp();  // before the tile after the next overwrites it
  }
}

}  // namespace recto::kernels
