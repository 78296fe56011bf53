#pragma once

// Computes each split of a context with one thread block. The states are unnormalised, as
// decode_pass returns them.

#include <kernel_dialect.h>

#include <cstdint>

#include "cuda/kernels/decode_block.cuh"
#include "cuda/kernels/decode_pass.cuh"
#include "cuda/kernels/split_decode.h"
#include "cuda/kernels/split_range.cuh"

namespace recto::kernels {

// Grid: (num_seqs, num_q_heads, num_splits).
template <typename Access, typename Query, typename Cached>
__global__ void __launch_bounds__(kDecodeThreads, kDecodeBlocksPerSm)
    split_decode(const SplitDecodeParams params) {
  const std::int64_t sequence = blockIdx.x;
  const std::int64_t head = blockIdx.y;
  const std::int64_t split = blockIdx.z;
  const KeyRange keys = visible_keys(params.decode, sequence);
  const KeyRange own = keys_of_split(keys, params, split);
  if (own.size() == 0) return;
  const SoftmaxState<kDimsPerThread> state =
      decode_pass(decode_row<Access, Query, Cached>(params.decode, sequence, head), own);

  const std::int64_t index = first_state(params, sequence, head) + split;
  const int head_dim = static_cast<int>(params.decode.kv.v.head_dim);
  for (int i = 0; i < kDimsPerThread; ++i) {
    const int dim = static_cast<int>(threadIdx.x) + i * kDecodeThreads;
    if (dim < head_dim) params.states.weighted[index * head_dim + dim] = state.weighted[i];
  }
  if (threadIdx.x == 0) {
    params.states.maximum[index] = state.maximum;
    params.states.sum[index] = state.sum;
  }
}

}  // namespace recto::kernels
