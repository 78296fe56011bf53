#pragma once

// A minimal decode attention under the name RECTO_ATTENTION: a thread block of 128 threads for each
// (sequence, head), scores by warps, values by dimensions.

#include <cmath>

#include <kernel_dialect.h>

namespace recto::simt {

__global__ void RECTO_ATTENTION(const float* q, const float* k, const float* v, float* out,
                                int tokens) {
  constexpr int kHeadDim = 128;
  KERNEL_SHARED(float, query, [kHeadDim]);
  KERNEL_SHARED(float, partial, [4]);
  KERNEL_DYNAMIC_SHARED(float, scores);
  const auto thread = static_cast<int>(threadIdx.x);
  const int lane = thread % 32;
  const int warp = thread / 32;
  const auto block = static_cast<std::int64_t>(blockIdx.x);
  const float* keys = k + block * tokens * kHeadDim;
  const float* values = v + block * tokens * kHeadDim;
  query[thread] = q[block * kHeadDim + thread];
  __syncthreads();
  float largest = -INFINITY;
  for (int token = warp; token < tokens; token += 4) {
    float sum = 0.0F;
    for (int i = lane; i < kHeadDim; i += 32) sum += query[i] * keys[token * kHeadDim + i];
    for (int bit = 16; bit > 0; bit /= 2) sum += __shfl_xor_sync(0xffffffff, sum, bit);
    if (lane == 0) scores[token] = sum;
    largest = fmaxf(largest, sum);
  }
  if (lane == 0) partial[warp] = largest;
  __syncthreads();
  for (int i = 0; i < 4; ++i) largest = fmaxf(largest, partial[i]);
  __syncthreads();
  float total = 0.0F;
  for (int token = thread; token < tokens; token += 128) {
    scores[token] = expf(scores[token] - largest);
    total += scores[token];
  }
  for (int bit = 16; bit > 0; bit /= 2) total += __shfl_xor_sync(0xffffffff, total, bit);
  if (lane == 0) partial[warp] = total;
  __syncthreads();
  total = partial[0] + partial[1] + partial[2] + partial[3];
  float sum = 0.0F;
  for (int token = 0; token < tokens; ++token) {
    sum += scores[token] * values[token * kHeadDim + thread];
  }
  out[block * kHeadDim + thread] = sum / total;
}

}  // namespace recto::simt
