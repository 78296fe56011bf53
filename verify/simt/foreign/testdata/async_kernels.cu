// Typical asynchronous copies: by PTX, and by the primitives of a header.

#include "async_kernels.h"

#include <cuda_pipeline.h>

#include <cstdint>

namespace {

constexpr int kTile = 32;

__device__ __forceinline__ void cp_async_16(void* shared, const void* global, bool is_there) {
  const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(shared));
  const int bytes = is_there ? 16 : 0;
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], %2, %3;\n" ::"r"(address),
               "l"(global), "n"(16), "r"(bytes));
}

template <int kLeft>
__device__ __forceinline__ void cp_async_wait() {
  asm volatile("cp.async.wait_group %0;\n" ::"n"(kLeft) : "memory");
}

// Tiles of 4 x 32 floats; the next one is copied while one is summed.
template <bool kWaits>
__global__ void sum_tiles_by_ptx(const float* in, float* out, int tiles, int pieces_there) {
  __shared__ __align__(16) float tile[2][4 * kTile];
  const int lane = threadIdx.x;
  const auto fetch = [&](int number) {
    cp_async_16(&tile[number % 2][4 * lane], in + 4 * (kTile * number + lane),
                kTile * number + lane < pieces_there);
    asm volatile("cp.async.commit_group;\n" ::);
  };
  float sum = 0.f;
  fetch(0);
  for (int number = 0; number < tiles; ++number) {
    if (number + 1 < tiles) {
      fetch(number + 1);
      if (kWaits) cp_async_wait<1>();
    } else {
      asm volatile("cp.async.wait_all;\n" ::);
    }
    __syncthreads();
    for (int row = 0; row < 4; ++row) sum += tile[number % 2][row * kTile + lane];
    __syncthreads();
  }
  out[lane] = sum;
}

template <bool kWaits>
__global__ void reverse_by_pipeline(const float* in, float* out) {
  extern __shared__ float row[];
  const int lane = threadIdx.x;
  __pipeline_memcpy_async(row + lane, in + lane, sizeof(float));
  __pipeline_commit();
  if (kWaits) __pipeline_wait_prior(0);
  __syncthreads();
  out[lane] = row[blockDim.x - 1 - lane];
  __pipeline_wait_prior(0);
}

}  // namespace

void run_sum_tiles(const float* in, float* out, int tiles, int pieces_there, bool waits) {
  if (waits) {
    sum_tiles_by_ptx<true><<<1, kTile>>>(in, out, tiles, pieces_there);
  } else {
    sum_tiles_by_ptx<false><<<1, kTile>>>(in, out, tiles, pieces_there);
  }
}

void run_reverse(const float* in, float* out, int count, bool waits) {
  if (waits) {
    reverse_by_pipeline<true><<<1, count, count * sizeof(float)>>>(in, out);
  } else {
    reverse_by_pipeline<false><<<1, count, count * sizeof(float)>>>(in, out);
  }
}
