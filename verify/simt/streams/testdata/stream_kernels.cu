#include "verify/simt/streams/testdata/stream_kernels.cuh"

#include <kernel_ptx.h>

__global__ void add(const float* in, float* out, float value) {
  out[threadIdx.x] = in[threadIdx.x] + value;
}

__global__ void write_alternate(float* out, int first) {
  out[2 * static_cast<int>(threadIdx.x) + first] = 1.0F;
}

__global__ void count_up(int* count) { atomicAdd(count, 1); }

__global__ void read_count(const int* count, int* out) { out[threadIdx.x] = *count; }

__global__ void copy_in_background(const float* in, float* out) {
  KERNEL_SHARED(float, tile, [32]);
  copy_async_4(&tile[threadIdx.x], in + threadIdx.x);
  wait_for_all_copies();
  out[threadIdx.x] = tile[threadIdx.x];
}
