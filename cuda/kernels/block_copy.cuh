#pragma once

// One thread block per (pair, KV head); each thread copies four codes at a time, over all slots.

#include <kernel_dialect.h>

#include <cstdint>

#include "cuda/kernels/block_copy.h"
#include "cuda/kernels/row_move.cuh"

namespace recto::kernels {

// Must be called by the whole thread block.
template <typename Access, typename Code>
__device__ inline void copy_block(const KvTensorView& from, const MutableKvTensorView& to,
                                  const BlockPair& pair, std::int64_t head) {
  const int size = static_cast<int>(from.head_dim);
  const int fours = (size + 3) / 4;
  const int count = static_cast<int>(from.block_size) * fours;
  for (int i = static_cast<int>(threadIdx.x); i < count; i += kMoveThreads) {
    const int offset = i / fours;
    const int dim = i % fours * 4;
    const auto source = row_of<Access, Code>(from, {pair.source, offset}, head);
    const auto target = row_of<Access, Code>(to, {pair.destination, offset}, head);
    target.access.store(source.access.load(source.data, dim, size), target.data, dim, size);
  }
}

// Grid: (num_pairs, num_kv_heads).
template <typename Access, typename Code>
__global__ void __launch_bounds__(kMoveThreads) block_copy(const BlockCopyParams params) {
  const BlockPair pair = params.pairs[blockIdx.x];
  copy_block<Access, Code>(params.from.k, params.to.k, pair, blockIdx.y);
  copy_block<Access, Code>(params.from.v, params.to.v, pair, blockIdx.y);
}

}  // namespace recto::kernels
