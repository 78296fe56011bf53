#pragma once

// The dialect in which kernels are written: plain CUDA C++ and the few names below. This file is
// for nvcc. Builds for a CPU use another kernel_dialect.h, which comes first on their include path
// and defines the same names with the same meaning.

#include <cooperative_groups.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

// Declares T name DIMENSIONS in shared memory: KERNEL_SHARED(float, tile, [4][32]).
#define KERNEL_SHARED(type, name, ...) __shared__ type name __VA_ARGS__

// The same, aligned to `alignment` bytes, for accesses that are wider than T.
#define KERNEL_SHARED_ALIGNED(alignment, type, name, ...) \
  __shared__ __align__(alignment)                         \
  type name __VA_ARGS__

// Declares extern T name[], with as many bytes as the launch requests, aligned to 16 bytes. Within
// a file, a name must always have the same T.
#define KERNEL_DYNAMIC_SHARED(type, name) extern __shared__ __align__(16) type name[]

using KernelStream = cudaStream_t;

// The launch configuration of a kernel.
struct KernelLaunch {
  dim3 grid = {};
  dim3 block = {};
  std::size_t dynamic_shared_bytes = 0;
  KernelStream stream = nullptr;
  bool is_cooperative = false;  // all thread blocks run concurrently and may call grid_barrier()
  // The kernel may begin while the one before it in the stream still runs, where cards can do so.
  // It calls wait_for_earlier_kernels() before it reads what that one writes.
  bool may_begin_early = false;
};

// The outcome of a call: null, or an error message.
struct KernelStatus {
  const char* error = nullptr;
};

namespace recto::kernel_dialect {

// Whether all target cards are of sm_90 or later.
#if defined(__CUDA_ARCH_LIST__)
inline constexpr int kCardsCompiledFor[] = {__CUDA_ARCH_LIST__};  // ascending
inline constexpr bool kAreAllCardsHopper = kCardsCompiledFor[0] >= 900;
#else
inline constexpr bool kAreAllCardsHopper = true;
#endif

// Kernels get 48 KiB of shared memory unless they ask for more. A higher limit is never lowered
// again, because launches that rely on it may be in flight.
inline cudaError_t allow_shared_memory(const void* kernel, std::size_t dynamic_bytes) {
  if (dynamic_bytes == 0) return cudaSuccess;
  cudaFuncAttributes attributes;
  const cudaError_t error = cudaFuncGetAttributes(&attributes, kernel);
  if (error != cudaSuccess) return error;
  const auto bytes = static_cast<int>(dynamic_bytes);
  if (bytes <= attributes.maxDynamicSharedSizeBytes) return cudaSuccess;
  return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
}

inline cudaError_t launch(const KernelLaunch& how, const void* kernel, void** arguments) {
  const cudaError_t error = allow_shared_memory(kernel, how.dynamic_shared_bytes);
  if (error != cudaSuccess) return error;
  const std::size_t shared_bytes = how.dynamic_shared_bytes;
  if (how.is_cooperative) {
    return cudaLaunchCooperativeKernel(kernel, how.grid, how.block, arguments, shared_bytes,
                                       how.stream);
  }
  cudaLaunchConfig_t config = {};
  config.gridDim = how.grid;
  config.blockDim = how.block;
  config.dynamicSmemBytes = shared_bytes;
  config.stream = how.stream;
  cudaLaunchAttribute early = {};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  config.attrs = &early;
  config.numAttrs = how.may_begin_early && kAreAllCardsHopper ? 1 : 0;
  return cudaLaunchKernelExC(&config, kernel, arguments);
}

}  // namespace recto::kernel_dialect

// Launches kernel<<<...>>>(arguments...) asynchronously. Errors of the launch itself are in the
// status, and do not remain as CUDA's last error.
template <typename... Parameters>
KernelStatus launch_kernel([[maybe_unused]] const char* name, const KernelLaunch& how,
                           void (*kernel)(Parameters...),
                           std::type_identity_t<Parameters>... arguments) {
  static_assert((std::is_trivially_copyable_v<Parameters> && ...),
                "a kernel's arguments are copied byte by byte");
  void* pointers[sizeof...(Parameters) + 1] = {&arguments..., nullptr};
  const cudaError_t error =
      recto::kernel_dialect::launch(how, reinterpret_cast<const void*>(kernel), pointers);
  if (error == cudaSuccess) return {};
  cudaGetLastError();
  return {cudaGetErrorString(error)};
}

// Copies from the device to the host, and waits for the stream. Not allowed during captures.
inline KernelStatus read_back(void* host, const void* device, std::size_t bytes,
                              KernelStream stream) {
  cudaError_t error = cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, stream);
  if (error == cudaSuccess) error = cudaStreamSynchronize(stream);
  if (error == cudaSuccess) return {};
  cudaGetLastError();
  return {cudaGetErrorString(error)};
}

// Waits for all thread blocks of a cooperative launch. Writes before it are visible after it.
__device__ inline void grid_barrier() { cooperative_groups::this_grid().sync(); }
