// reference_decode and split_decode in plain CUDA C++ without the dialect: the machine code must be
// the same, byte for byte (../machine_code_test.py). The parts that use the dialect, above all
// shared memory, are written out; all other parts of the kernels are included.

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "cuda/kernels/decode_block.cuh"
#include "cuda/kernels/decode_row.cuh"
#include "cuda/kernels/element.cuh"
#include "cuda/kernels/softmax_state.cuh"
#include "cuda/kernels/split_decode.h"
#include "cuda/kernels/split_range.cuh"
#include "cuda/kernels/warp_pass.cuh"

namespace recto::kernels {

template <typename Access, typename Query, typename Cached>
__device__ inline SoftmaxState<kDimsPerThread> decode_pass(
    const DecodeRow<Access, Query, Cached>& row, const KeyRange& keys) {
  __shared__ __align__(16) float query[kHeadDimMax];
  __shared__ std::int64_t key_offsets[kDecodeWarps][kTileKeys];
  __shared__ std::int64_t value_offsets[kDecodeWarps][kTileKeys];
  __shared__ float weights[kDecodeWarps][kTileKeys];
  __shared__ float maxima[kDecodeWarps];
  __shared__ float sums[kDecodeWarps];
  __shared__ __align__(16) float weighted[kDecodeWarps][kHeadDimMax];
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
  for (int i = 0; i < kDimsPerLane; ++i) {
    weighted[warp][lane * 4 + i / 4 * 4 * kWarpLanes + i % 4] = own.weighted[i];
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

template <typename Access, typename Query, typename Cached>
__global__ void __launch_bounds__(kDecodeThreads, kDecodeBlocksPerSm)
    reference_decode(const ReferenceDecodeParams params) {
  const std::int64_t sequence = blockIdx.x;
  const std::int64_t head = blockIdx.y;
  const SoftmaxState<kDimsPerThread> state = decode_pass(
      decode_row<Access, Query, Cached>(params, sequence, head), visible_keys(params, sequence));
  finish_row(state, sink_of(params.options, head), decode_result<Query>(params, sequence, head));
}

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

  const std::int64_t rows = sequence * params.decode.q.num_heads + head;
  const std::int64_t index = rows * params.num_splits + split;
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

template __global__ void reference_decode<Fours, float, float>(ReferenceDecodeParams);
template __global__ void reference_decode<Singles, __half, __half>(ReferenceDecodeParams);
template __global__ void split_decode<Fours, __nv_bfloat16, __nv_bfloat16>(SplitDecodeParams);

}  // namespace recto::kernels
