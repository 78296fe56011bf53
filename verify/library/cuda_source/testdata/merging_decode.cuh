#pragma once

// Split decode in one launch, fp32: one thread block per split. The last block of a row, determined
// by a counter between two fences, merges the row. Can be set to contain a fault.

#include <cstdint>

enum Fault {
  kNoFault,
  kNoFenceBefore,  // between writing a part and the counter
  kNoFenceAfter,   // between the counter and reading others' parts
  kFenceOfBlock,   // a block-wide fence where a device-wide one is needed
  kNoBarrier,      // the counter changes while others may still write
};

struct MergingDecode {
  const float *q, *k, *v;
  const int *table, *lengths;
  float *out, *lse, *parts;  // parts: [num_seqs, num_heads, num_splits, 2 + dim]
  int* arrived;              // [num_seqs, num_heads], zeros before and after
  long row_stride, head_stride, table_stride;
  long k_block, k_head, k_slot, v_block, v_head, v_slot;
  int num_heads, group, dim, block_size;
  float scale;
  int fault;
};

constexpr int kThreadsMax = 256;

// Each thread handles some of the split's keys, then one dim of V.
__device__ void attend(const MergingDecode& p, int head, int seq, int split, int num_splits,
                       float* part) {
  __shared__ float scores[kThreadsMax];
  const int length = p.lengths[seq], dim = threadIdx.x, threads = blockDim.x;
  const int keys = (length + num_splits - 1) / num_splits;
  const int end = min((split + 1) * keys, length);
  const float* q = p.q + seq * p.row_stride + head * p.head_stride;
  float maximum = -INFINITY, sum = 0, weighted = 0;
  for (int start = split * keys; start < end; start += threads) {
    const int count = min(threads, end - start);
    const auto block_of = [&](int i) {
      return (long)p.table[seq * p.table_stride + (start + i) / p.block_size];
    };
    if (dim < count) {
      const float* k = p.k + block_of(dim) * p.k_block + head / p.group * p.k_head +
                       (start + dim) % p.block_size * p.k_slot;
      float score = 0;
      for (int d = 0; d < p.dim; ++d) score += q[d] * k[d];
      scores[dim] = score * p.scale;
    }
    __syncthreads();
    float top = maximum;
    for (int i = 0; i < count; ++i) top = fmaxf(top, scores[i]);
    const float rescale = expf(maximum - top);
    maximum = top;
    sum *= rescale;
    weighted *= rescale;
    for (int i = 0; i < count; ++i) {
      const float weight = expf(scores[i] - top);
      sum += weight;
      if (dim >= p.dim) continue;
      weighted += weight * p.v[block_of(i) * p.v_block + head / p.group * p.v_head +
                               (start + i) % p.block_size * p.v_slot + dim];
    }
    __syncthreads();
  }
  if (dim == 0) part[0] = maximum;
  if (dim == 0) part[1] = sum;
  if (dim < p.dim) part[2 + dim] = weighted;
}

__global__ void merging_decode(MergingDecode p) {
  const int head = blockIdx.x, seq = blockIdx.y, split = blockIdx.z, dim = threadIdx.x;
  const int num_splits = gridDim.z, part = 2 + p.dim;
  const long at = (long)seq * p.num_heads + head;
  float* parts = p.parts + at * num_splits * part;
  attend(p, head, seq, split, num_splits, parts + split * part);
  __shared__ int arrived;
  if (p.fault != kNoBarrier) __syncthreads();
  if (dim == 0) {
    if (p.fault == kFenceOfBlock) {
      __threadfence_block();
    } else if (p.fault != kNoFenceBefore) {
      __threadfence();
    }
    arrived = atomicAdd(p.arrived + at, 1);
    if (p.fault != kNoFenceAfter) __threadfence();
  }
  __syncthreads();
  if (arrived + 1 < num_splits) return;
  float maximum = -INFINITY, sum = 0, weighted = 0;
  for (int i = 0; i < num_splits; ++i) maximum = fmaxf(maximum, parts[i * part]);
  for (int i = 0; i < num_splits; ++i) {
    if (parts[i * part + 1] == 0) continue;
    const float rescale = expf(parts[i * part] - maximum);
    sum += rescale * parts[i * part + 1];
    if (dim < p.dim) weighted += rescale * parts[i * part + 2 + dim];
  }
  if (dim < p.dim) p.out[at * p.dim + dim] = sum > 0 ? weighted / sum : 0;
  if (dim != 0) return;
  p.lse[at] = sum > 0 ? maximum + logf(sum) : -INFINITY;
  p.arrived[at] = 0;
}
