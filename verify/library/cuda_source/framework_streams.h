#pragma once

// Streams, devices and launch checks, as extensions use them from the framework.

#include <cuda_runtime.h>

#include "verify/library/cuda_source/framework_tensors.h"

namespace c10::cuda {

// The default stream.
class CUDAStream {
 public:
  operator cudaStream_t() const { return nullptr; }  // NOLINT: as the framework has it
  cudaStream_t stream() const { return nullptr; }
};

inline CUDAStream getCurrentCUDAStream(int /*device*/ = -1) { return {}; }

struct CUDAGuard {
  explicit CUDAGuard(Device) {}
  explicit CUDAGuard(int) {}
};

struct OptionalCUDAGuard {
  explicit OptionalCUDAGuard(std::optional<Device>) {}
};

inline void check(cudaError_t error) {
  if (error != cudaSuccess) throw std::runtime_error(cudaGetErrorString(error));
}

}  // namespace c10::cuda

namespace at::cuda {

using c10::cuda::CUDAGuard;
using c10::cuda::getCurrentCUDAStream;
using c10::cuda::OptionalCUDAGuard;

}  // namespace at::cuda

namespace at {

inline std::optional<Device> device_of(const Tensor& tensor) { return tensor.device(); }

}  // namespace at

#define C10_CUDA_CHECK(call) ::c10::cuda::check(call)
#define AT_CUDA_CHECK(call) ::c10::cuda::check(call)
#define C10_CUDA_KERNEL_LAUNCH_CHECK() ::c10::cuda::check(cudaGetLastError())
