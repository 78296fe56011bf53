#pragma once

// One thread block per sequence, one warp per head.

#include <kernel_dialect.h>

#include <cstdint>

#include "cuda/kernels/block_cursor.cuh"
#include "cuda/kernels/kv_append.h"
#include "cuda/kernels/kv_scale.cuh"
#include "cuda/kernels/rotary.cuh"
#include "cuda/kernels/row_move.cuh"

namespace recto::kernels {

// As for decode: with fewer registers per thread than this leaves, some are spilled.
inline constexpr int kAppendBlocksPerSm = 4;

// The slot of a new token; a negative block means none.
__device__ inline Slot slot_of_new(const KvAppendParams& params, std::int64_t sequence,
                                   int position) {
  const int block_size = static_cast<int>(params.kv.k.block_size);
  const bool has_block = position / block_size < params.block_table.max_blocks;
  if (!has_position(params.rotary, position) || !has_block) return {-1, 0};
  return cursor_of(params.block_table, block_size, sequence).slot_of(position);
}

// Must be called by the whole thread block. K and V of one token are small, so one access policy
// serves all layouts.
template <typename Source, typename Cached>
__device__ inline void append_token(const KvAppendParams& params, std::int64_t sequence,
                                    const Slot& slot, int position) {
  const MutableKvTensorView& k = params.kv.k;
  const MutableKvTensorView& v = params.kv.v;
  for (std::int64_t head = threadIdx.x / kWarpLanes; head < k.num_kv_heads; head += kMoveWarps) {
    move_rotated(row_of<Packs, Source>(params.k, sequence, head),
                 row_of<Packs, Cached>(k, slot, head), k.head_dim, {params.rotary, position},
                 scale_of<Cached>(k, head));
    move_row(row_of<Packs, Source>(params.v, sequence, head), row_of<Packs, Cached>(v, slot, head),
             v.head_dim, scale_of<Cached>(v, head));
  }
}

template <typename Element>
__device__ inline void rotate_query(const KvAppendParams& params, std::int64_t sequence,
                                    int position) {
  Turn turn = {params.rotary, position};
  if (!has_position(params.rotary, position)) turn.rotary.dim = 0;
  for (std::int64_t head = threadIdx.x / kWarpLanes; head < params.q.num_heads;
       head += kMoveWarps) {
    move_rotated(row_of<Packs, Element>(params.q, sequence, head),
                 row_of<Packs, Element>(params.rotated_q, sequence, head), params.q.head_dim, turn);
  }
}

// Grid: (num_seqs).
template <typename Source, typename Cached>
__global__ void __launch_bounds__(kMoveThreads, kAppendBlocksPerSm)
    kv_append(const KvAppendParams params) {
  const std::int64_t sequence = blockIdx.x;
  const int position = params.cached_length[sequence];
  const Slot slot = slot_of_new(params, sequence, position);
  const bool is_appended = slot.block_id >= 0;
  if (is_appended) append_token<Source, Cached>(params, sequence, slot, position);
  if (params.q.data != nullptr) rotate_query<Source>(params, sequence, position);
  if (threadIdx.x == 0 && params.context_length != nullptr) {
    params.context_length[sequence] = max(position, 0) + (is_appended ? 1 : 0);
  }
}

}  // namespace recto::kernels
