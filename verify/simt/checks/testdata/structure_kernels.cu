#include "verify/simt/checks/testdata/structure_kernels.cuh"

#include <cstring>

namespace recto::simt {
namespace {

template <typename T>
__device__ void write(T& to, bool has_value) {
  if constexpr (requires { to.kind; }) {
    to.kind = 1;
  } else {
    to.x = 1;
  }
  if (has_value) to.value = 2;
  if constexpr (requires { to.last; }) to.last = 3;
}

template <typename T>
__device__ float sum_of(const T& from) {
  float sum = static_cast<float>(from.value);
  if constexpr (requires { from.kind; }) {
    sum += from.kind;
  } else {
    sum += from.x;
  }
  if constexpr (requires { from.last; }) sum += static_cast<float>(from.last);
  return sum;
}

}  // namespace

template <typename T>
__global__ void exchange_structures(float* out, int skipped) {
  KERNEL_SHARED(T, all, [32]);
  const auto own = static_cast<int>(threadIdx.x);
  write(all[own], own != skipped);
  __syncthreads();
  const T other = all[31 - own];
  out[own] = sum_of(other);
}

template <typename T>
__global__ void exchange_by_memcpy(T* all, float* out, int skipped) {
  const auto own = static_cast<int>(threadIdx.x);
  write(all[own], own != skipped);
  __syncthreads();
  T other;
  memcpy(&other, &all[31 - own], sizeof other);
  out[own] = sum_of(other);
}

#define RECTO_STRUCTURE_KERNELS(T)                               \
  template void exchange_structures<T>(float* out, int skipped); \
  template void exchange_by_memcpy<T>(T * all, float* out, int skipped);

RECTO_STRUCTURE_KERNELS(PaddedShort)
RECTO_STRUCTURE_KERNELS(PaddedInt)
RECTO_STRUCTURE_KERNELS(PaddedDouble)
RECTO_STRUCTURE_KERNELS(ThreeFloats)

__global__ void wait_for_warp(int* out, int waits) {
  KERNEL_SHARED(int, flag, [1]);
  if (threadIdx.x == 0) *flag = 0;
  __syncthreads();
  if (threadIdx.x < waits) {  // signed and unsigned, as in typical kernels
    while (atomicAdd(flag, 0) == 0) {
    }
  } else if (threadIdx.x == 32) {
    atomicExch(flag, 1);
  }
  out[threadIdx.x] = 1;
}

}  // namespace recto::simt
