#pragma once

// Attention of one query head over a range of its keys, by one thread block. Each warp processes
// consecutive keys; at the end the warps' states are merged. Between the first and the last barrier
// no warp waits for another.

#include <kernel_dialect.h>

#include <cstdint>

#include "cuda/kernels/decode_block.cuh"
#include "cuda/kernels/decode_row.cuh"
#include "cuda/kernels/element.cuh"
#include "cuda/kernels/softmax_state.cuh"
#include "cuda/kernels/warp.cuh"
#include "cuda/kernels/warp_pass.cuh"

namespace recto::kernels {

// Returns the state of all `keys`: every thread has the same m and l, and kDimsPerThread dims of o.
// Must be called by the whole thread block.
template <typename Access, typename Query, typename Cached>
__device__ inline SoftmaxState<kDimsPerThread> decode_pass(
    const DecodeRow<Access, Query, Cached>& row, const KeyRange& keys) {
  KERNEL_SHARED_ALIGNED(16, float, query, [kHeadDimMax]);
  KERNEL_SHARED(std::int64_t, key_offsets, [kDecodeWarps][kTileKeys]);
  KERNEL_SHARED(std::int64_t, value_offsets, [kDecodeWarps][kTileKeys]);
  KERNEL_SHARED(float, weights, [kDecodeWarps][kTileKeys]);
  KERNEL_SHARED(float, maxima, [kDecodeWarps]);
  KERNEL_SHARED(float, sums, [kDecodeWarps]);
  KERNEL_SHARED_ALIGNED(16, float, weighted, [kDecodeWarps][kHeadDimMax]);
  const int thread = static_cast<int>(threadIdx.x);
  const int lane = thread % kWarpLanes;
  const int warp = thread / kWarpLanes;

  for (int dim = thread; dim < kHeadDimMax; dim += kDecodeThreads) {
    query[dim] = dim < row.keys.head_dim ? convert<float>(row.query[dim]) : 0.0F;
  }
  __syncthreads();

  const SoftmaxState<kDimsPerLane> own =
      warp_pass(row, query, stretch_of_warp(keys, warp),
                {key_offsets[warp], value_offsets[warp], weights[warp]}, lane);
  if (lane == 0) {
    maxima[warp] = own.maximum;
    sums[warp] = own.sum;
  }
  for (int i = 0; i < kDimsPerLane; i += 4) {
    *reinterpret_cast<float4*>(&weighted[warp][(lane + i / 4 * kWarpLanes) * 4]) =
        make_float4(own.weighted[i], own.weighted[i + 1], own.weighted[i + 2], own.weighted[i + 3]);
  }
  __syncthreads();

  SoftmaxState<kDimsPerThread> whole;
  for (int part = 0; part < kDecodeWarps; ++part) {
    SoftmaxState<kDimsPerThread> state{maxima[part], sums[part]};
    for (int i = 0; i < kDimsPerThread; ++i) {
      state.weighted[i] = weighted[part][thread + i * kDecodeThreads];
    }
    whole = merge(whole, state);
  }
  return whole;
}

}  // namespace recto::kernels
