#pragma once

// One thread block per (sequence, 32 tokens, KV head), one warp per token.

#include <kernel_dialect.h>

#include <cstdint>

#include "cuda/kernels/gather.h"
#include "cuda/kernels/row_move.cuh"

namespace recto::kernels {

inline constexpr int kGatherTokens = 32;

// Grid: (num_seqs, ceil(max_context_length / kGatherTokens), num_kv_heads).
template <typename Access, typename Code>
__global__ void __launch_bounds__(kMoveThreads) gather(const GatherParams params) {
  const std::int64_t sequence = blockIdx.x;
  const std::int64_t head = blockIdx.z;
  const KvTensorView& k = params.kv.k;
  const KvTensorView& v = params.kv.v;
  const BlockCursor cursor =
      cursor_of(params.block_table, static_cast<int>(k.block_size), sequence);
  const int begin = static_cast<int>(blockIdx.y) * kGatherTokens;
  const int end = min(begin + kGatherTokens, params.context_length[sequence]);
  const int warp = static_cast<int>(threadIdx.x) / kWarpLanes;
  for (int position = begin + warp; position < end; position += kMoveWarps) {
    const Slot slot = cursor.slot_of(position);
    const std::int64_t row = params.context_start[sequence] + position;
    move_row(row_of<Access, Code>(k, slot, head), row_of<Access, Code>(params.k, row, head),
             k.head_dim);
    move_row(row_of<Access, Code>(v, slot, head), row_of<Access, Code>(params.v, row, head),
             v.head_dim);
  }
}

}  // namespace recto::kernels
