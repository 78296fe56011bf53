#include "two_streams.h"

#include <cuda_runtime.h>

namespace {

// Reverses rows of 32 floats: thread block b takes row table[b] of the pool.
__global__ void turn_rows(const float* pool, const int* table, float* turned) {
  __shared__ float row[32];
  row[threadIdx.x] = pool[32 * table[blockIdx.x] + threadIdx.x];
  __syncthreads();
  turned[32 * blockIdx.x + threadIdx.x] = row[31 - threadIdx.x];
}

__global__ void add_rows(const float* rows, float* sum, int count) {
  float all = 0.f;
  for (int row = 0; row < count; ++row) all += rows[32 * row + threadIdx.x];
  sum[threadIdx.x] = all;
}

}  // namespace

void launch_turn_rows(const float* pool, const int* table, float* turned, int count,
                      cudaStream_t stream) {
  turn_rows<<<count, 32, 0, stream>>>(pool, table, turned);
}

void launch_add_rows(const float* rows, float* sum, int count, cudaStream_t stream) {
  add_rows<<<1, 32, 0, stream>>>(rows, sum, count);
}
