#pragma once

// The stream of the framework. On the executor all launches go to simt_foreign::StreamScope's.

#include <cuda_runtime.h>

namespace at::cuda {
inline cudaStream_t getCurrentCUDAStream() { return nullptr; }
}  // namespace at::cuda
