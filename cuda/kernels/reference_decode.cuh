#pragma once

// The simplest kernel: a thread block computes one whole query head of one sequence. Heads that
// share a KV head read it again, and a long context keeps one multiprocessor busy after the others
// have finished; split_decode.cuh solves the second problem.

#include <kernel_dialect.h>

#include <cstdint>

#include "cuda/kernels/decode_block.cuh"
#include "cuda/kernels/decode_pass.cuh"

namespace recto::kernels {

// Grid: (num_seqs, num_q_heads).
template <typename Access, typename Query, typename Cached>
__global__ void __launch_bounds__(kDecodeThreads, kDecodeBlocksPerSm)
    reference_decode(const ReferenceDecodeParams params) {
  const std::int64_t sequence = blockIdx.x;
  const std::int64_t head = blockIdx.y;
  const SoftmaxState<kDimsPerThread> state = decode_pass(
      decode_row<Access, Query, Cached>(params, sequence, head), visible_keys(params, sequence));
  finish_row(state, sink_of(params.options, head), decode_result<Query>(params, sequence, head));
}

}  // namespace recto::kernels
