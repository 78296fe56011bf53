#pragma once

// How the thread block of a decode kernel divides its work: the keys of each warp, the result dims
// of each thread, and the place of the result.

#include <kernel_dialect.h>

#include <cstdint>

#include "cuda/kernels/decode_row.cuh"
#include "cuda/kernels/element.cuh"
#include "cuda/kernels/softmax_state.cuh"
#include "cuda/kernels/warp.cuh"
#include "cuda/kernels/warp_pass.cuh"

namespace recto::kernels {

inline constexpr int kDecodeWarps = 4;
inline constexpr int kDecodeThreads = kDecodeWarps * kWarpLanes;

// Minimum number of thread blocks per multiprocessor. It leaves each thread 128 registers; with
// fewer, some are spilled on sm_100.
inline constexpr int kDecodeBlocksPerSm = 4;

// Dims that each thread holds of a shared state: threadIdx.x and threadIdx.x + kDecodeThreads.
inline constexpr int kDimsPerThread = kHeadDimMax / kDecodeThreads;

// A warp's part of the keys: as many whole tiles as the other warps have, or fewer. It depends only
// on the range, so the bits of a result depend only on the range as well.
__device__ inline KeyRange stretch_of_warp(const KeyRange& keys, int warp,
                                           int tile_keys = kTileKeys) {
  const int tiles = (keys.size() + tile_keys - 1) / tile_keys;
  const int stretch = (tiles + kDecodeWarps - 1) / kDecodeWarps * tile_keys;
  const int begin = keys.begin + min(warp * stretch, keys.size());
  return {begin, begin + min(stretch, keys.end - begin)};
}

// The destination of one row's results.
template <typename Element>
struct DecodeResult {
  Element* out;   // [head_dim_v]
  float* lse_ln;  // [1], or null
  int head_dim_v;
};

template <typename Element>
__device__ inline DecodeResult<Element> decode_result(const ReferenceDecodeParams& params,
                                                      std::int64_t sequence, std::int64_t head) {
  return {static_cast<Element*>(params.out.data) + sequence * params.out.row_stride +
              head * params.out.head_stride,
          params.lse_ln == nullptr ? nullptr : params.lse_ln + sequence * params.q.num_heads + head,
          static_cast<int>(params.kv.v.head_dim)};
}

// Must be called by the whole thread block; each thread passes its dims of the state.
template <typename Element>
__device__ inline void finish_row(SoftmaxState<kDimsPerThread> state, const float* sink,
                                  const DecodeResult<Element>& result) {
  if (sink != nullptr) state = merge(state, sink_state<kDimsPerThread>(*sink));
  for (int i = 0; i < kDimsPerThread; ++i) {
    const int dim = static_cast<int>(threadIdx.x) + i * kDecodeThreads;
    if (dim < result.head_dim_v) {
      result.out[dim] = convert<Element>(normalised(state.weighted[i], state.sum));
    }
  }
  if (threadIdx.x == 0 && result.lse_ln != nullptr) *result.lse_ln = lse_ln_of(state);
}

__device__ inline const float* sink_of(const AttentionOptions& options, std::int64_t head) {
  return options.sinks.empty() ? nullptr : options.sinks.data() + head;
}

}  // namespace recto::kernels
