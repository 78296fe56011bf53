#pragma once

// Computes each split of a context with one thread block, and merges the splits. The intermediate
// states are unnormalised, as decode_pass returns them, so the merge uses the algebra of
// softmax_state.cuh.

#include <kernel_dialect.h>

#include <cstdint>

#include "cuda/kernels/decode_block.cuh"
#include "cuda/kernels/decode_pass.cuh"
#include "cuda/kernels/split_decode.h"

namespace recto::kernels {

// The first key of split `split`; the end of the range if there is no such split.
__device__ inline int split_begin(const KeyRange& keys, std::int64_t split_size,
                                  std::int64_t split) {
  const std::int64_t from = split * split_size;
  return from < keys.size() ? keys.begin + static_cast<int>(from) : keys.end;
}

// The keys of a split. The last split takes all the remaining keys, so a context that is longer
// than declared is not truncated.
__device__ inline KeyRange keys_of_split(const KeyRange& keys, const SplitDecodeParams& params,
                                         std::int64_t split) {
  return {
      split_begin(keys, params.split_size, split),
      split + 1 == params.num_splits ? keys.end : split_begin(keys, params.split_size, split + 1)};
}

// The index of the first state of one row's splits.
__device__ inline std::int64_t first_state(const SplitDecodeParams& params, std::int64_t sequence,
                                           std::int64_t head) {
  return (sequence * params.decode.q.num_heads + head) * params.num_splits;
}

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

// Grid: (num_seqs, num_q_heads).
template <typename Element>
__global__ void __launch_bounds__(kDecodeThreads) split_merge(const SplitDecodeParams params) {
  const std::int64_t sequence = blockIdx.x;
  const std::int64_t head = blockIdx.y;
  const KeyRange keys = visible_keys(params.decode, sequence);
  const int head_dim = static_cast<int>(params.decode.kv.v.head_dim);
  const std::int64_t first = first_state(params, sequence, head);
  const std::int64_t parts = (keys.size() + params.split_size - 1) / params.split_size;
  const std::int64_t splits = parts < params.num_splits ? parts : params.num_splits;

  SoftmaxState<kDimsPerThread> whole;
  for (std::int64_t index = first; index < first + splits; ++index) {
    SoftmaxState<kDimsPerThread> state{params.states.maximum[index], params.states.sum[index]};
    for (int i = 0; i < kDimsPerThread; ++i) {
      const int dim = static_cast<int>(threadIdx.x) + i * kDecodeThreads;
      if (dim < head_dim) state.weighted[i] = params.states.weighted[index * head_dim + dim];
    }
    whole = merge(whole, state);
  }
  finish_row(whole, sink_of(params.decode.options, head),
             decode_result<Element>(params.decode, sequence, head));
}

}  // namespace recto::kernels
