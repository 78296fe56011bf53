#include "verify/kernels/gpu/managed_memory.h"

#include <cuda_runtime.h>

namespace recto::verify::gpu {

void* managed_memory(std::size_t bytes) {
  void* memory = nullptr;
  if (cudaMallocManaged(&memory, bytes) == cudaSuccess) return memory;
  cudaGetLastError();
  return nullptr;
}

bool free_managed_memory(void* memory) {
  cudaPointerAttributes attributes = {};
  if (cudaPointerGetAttributes(&attributes, memory) != cudaSuccess) {
    cudaGetLastError();
    return false;
  }
  return attributes.type == cudaMemoryTypeManaged && cudaFree(memory) == cudaSuccess;
}

}  // namespace recto::verify::gpu
