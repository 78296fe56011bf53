#pragma once

// Types of CUDA's runtime, laid out as in the toolkit's headers, so that host code which nvcc has
// compiled links with the functions here in place of the toolkit's library. Declared anew: this
// builds without a toolkit.

#include <cstddef>
#include <cstdint>

namespace recto::cudart {

// NOLINTBEGIN: NVIDIA's names
enum CudaError : int {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorInvalidConfiguration = 9,
  cudaErrorInvalidSymbol = 13,
  cudaErrorInvalidDeviceFunction = 98,
  cudaErrorInvalidDevice = 101,
  cudaErrorInvalidHandle = 400,
  cudaErrorNotReady = 600,
  cudaErrorLaunchFailure = 719,
  cudaErrorStreamCaptureInvalidated = 901,
};

enum CudaCopyKind : int { kHostToHost, kHostToDevice, kDeviceToHost, kDeviceToDevice, kDefault };

struct CudaDim3 {
  unsigned x;
  unsigned y;
  unsigned z;
};

// The first fields of cudaFuncAttributes, which are the same in CUDA 11 to 13.
struct CudaFuncAttributes {
  std::size_t shared_bytes;
  std::size_t constant_bytes;
  std::size_t local_bytes;
  int threads_max;
  int num_registers;
  int ptx_version;
  int binary_version;
  int cache_mode;
  int dynamic_shared_bytes_max;
};

struct CudaLaunchAttribute {
  int id;
  int padding;
  union Value {
    char bytes[64];
    int cooperative;
    CudaDim3 cluster;
  } value;
};

struct CudaLaunchConfig {
  CudaDim3 grid;
  CudaDim3 block;
  std::size_t dynamic_shared_bytes;
  void* stream;
  CudaLaunchAttribute* attributes;
  unsigned num_attributes;
};
// NOLINTEND

}  // namespace recto::cudart
