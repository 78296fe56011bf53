// CUDA's first device, for kernel libraries that take device memory.

#include "verify/library/kernel_device.h"

#include <cuda_runtime.h>

namespace recto::verify {
namespace {

class CudaDevice final : public KernelDevice {
 public:
  const char* begin() override {
    int count = 0;
    note(cudaGetDeviceCount(&count));
    if (error_ == cudaSuccess && count == 0) return "no device";
    note(cudaSetDevice(0));
    note(cudaFree(nullptr));
    return failure();
  }

  std::byte* allocate(std::int64_t bytes) override {
    void* memory = nullptr;
    const cudaError_t error = cudaMalloc(&memory, static_cast<std::size_t>(bytes));
    if (error == cudaSuccess) return static_cast<std::byte*>(memory);
    // Lack of room is a valid answer; any other error, such as an earlier one, is a failure.
    if (error != cudaErrorMemoryAllocation) note(error);
    (void)cudaGetLastError();
    return nullptr;
  }
  void release(std::byte* memory) override { note(cudaFree(memory)); }

  void copy_in(std::byte* device, const std::byte* host, std::int64_t bytes) override {
    note(cudaMemcpy(device, host, static_cast<std::size_t>(bytes), cudaMemcpyHostToDevice));
  }
  void copy_out(std::byte* host, const std::byte* device, std::int64_t bytes) override {
    note(cudaMemcpy(host, device, static_cast<std::size_t>(bytes), cudaMemcpyDeviceToHost));
  }

  const char* finish() override {
    note(cudaDeviceSynchronize());
    return failure();
  }

 private:
  // Keeps the first error: it causes the later ones.
  void note(cudaError_t error) {
    if (error_ == cudaSuccess) error_ = error;
  }
  const char* failure() const {
    return error_ == cudaSuccess ? nullptr : cudaGetErrorString(error_);
  }

  cudaError_t error_ = cudaSuccess;
};

}  // namespace

KernelDevice* kernel_device() {
  static CudaDevice device;
  return &device;
}

}  // namespace recto::verify
