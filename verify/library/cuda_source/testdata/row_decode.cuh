#pragma once

// A small decode kernel for any strides, fp32: one thread block per query head of a sequence, one
// thread per dim. Can be set to contain a fault.

#include "row_decode.h"

constexpr int kKeysAtOnce = 32;

__global__ void row_decode(RowDecode p) {
  const int head = blockIdx.x, seq = blockIdx.y, dim = threadIdx.x;
  const int length = p.lengths[seq];
  const float* q = p.q + seq * p.row_stride + head * p.head_stride;
  __shared__ float scores[kKeysAtOnce];
  __shared__ float total;
  float maximum = -INFINITY, sum = 0, weighted = 0;
  for (int start = 0; start < length; start += kKeysAtOnce) {
    const int count = min(kKeysAtOnce, length - start);
    for (int i = dim; i < count; i += blockDim.x) {
      const int key = start + i;
      const long block = p.table[seq * p.table_stride + key / p.block_size];
      const float* k =
          p.k + block * p.k_block + head / p.group * p.k_head + key % p.block_size * p.k_slot;
      float score = 0;
      for (int d = 0; d < p.dim; ++d) score += q[d] * k[d];
      scores[i] = score * p.scale;
    }
    if (p.fault != kNoBarrier) __syncthreads();
    float top = maximum;
    for (int i = 0; i < count; ++i) top = fmaxf(top, scores[i]);
    const float rescale = expf(maximum - top);
    sum *= rescale;
    weighted *= rescale;
    maximum = top;
    for (int i = 0; i < count; ++i) {
      const float weight = expf(scores[i] - maximum);
      sum += weight;
      if (dim >= p.dim) continue;
      const int key = start + i;
      const long block = p.table[seq * p.table_stride + key / p.block_size];
      weighted +=
          weight *
          p.v[block * p.v_block + head / p.group * p.v_head + key % p.block_size * p.v_slot + dim];
    }
    __syncthreads();
  }
  if (p.fault == kDivergentBarrier && length > 0) {
    if (dim < 16) {
      __syncthreads();
    } else {
      __syncthreads();
    }
  }
  const long at = (long)seq * p.num_heads + head;
  if (p.fault == kNextSequence && seq + 1 < gridDim.y && p.lengths[seq + 1] > 0) {
    const long block = p.table[(seq + 1) * p.table_stride];
    if (p.k[block * p.k_block + head / p.group * p.k_head] == 12345.0f) sum += 1;
  }
  if (p.fault == kByArrival) {
    if (dim == 0) total = 1e8f;
    __syncthreads();
    // Additions are lost to rounding, unless the other warps have subtracted before.
    atomicAdd(&total, dim < blockDim.x / 2 ? 3.0f : -1e8f / (blockDim.x / 2));
    __syncthreads();
    sum += total * 1e-20f;
    weighted += total * 1e-6f;
  }
  if (dim == 0) p.scratch[at] = sum > 0 ? maximum + logf(sum) : -INFINITY;
  if (p.fault == kUnwritten && dim == 0 && at + 1 == (long)gridDim.x * gridDim.y) {
    sum += p.scratch[at + 1] * 0;
  }
  if (dim < p.dim) p.out[at * p.dim + dim] = sum > 0 ? weighted / sum : 0;
}
