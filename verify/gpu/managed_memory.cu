#include "verify/gpu/managed_memory.h"

#include <cuda_runtime.h>

namespace recto::verify::gpu {

void* managed_memory(std::size_t bytes) {
  void* memory = nullptr;
  if (cudaMallocManaged(&memory, bytes) == cudaSuccess) return memory;
  cudaGetLastError();
  return nullptr;
}

}  // namespace recto::verify::gpu
