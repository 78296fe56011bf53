#pragma once

// Replaces the dialect with plain CUDA C++: defines none of the dialect's macros.

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>

using KernelStream = cudaStream_t;

struct KernelStatus {
  const char* error = nullptr;
};
