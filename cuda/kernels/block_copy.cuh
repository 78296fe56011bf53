#pragma once

// A thread block for each (pair, KV head), a warp for each slot. Elements are copied as codes.

#include <kernel_dialect.h>

#include <cstdint>

#include "cuda/kernels/block_copy.h"
#include "cuda/kernels/row_move.cuh"

namespace recto::kernels {

// Grid: (num_pairs, num_kv_heads).
template <typename Access, typename Code>
__global__ void __launch_bounds__(kMoveThreads) block_copy(const BlockCopyParams params) {
  const BlockPair pair = params.pairs[blockIdx.x];
  const std::int64_t head = blockIdx.y;
  const MutableKvTensorView& k = params.kv.k;
  const MutableKvTensorView& v = params.kv.v;
  for (std::int64_t offset = threadIdx.x / kWarpLanes; offset < k.block_size;
       offset += kMoveWarps) {
    const Slot from = {pair.source, offset};
    const Slot to = {pair.destination, offset};
    move_row(row_of<Access, const Code>(k, from, head), row_of<Access, Code>(k, to, head),
             k.head_dim);
    move_row(row_of<Access, const Code>(v, from, head), row_of<Access, Code>(v, to, head),
             v.head_dim);
  }
}

}  // namespace recto::kernels
