#pragma once

// The part of CUDA's runtime that programs around the host API need, on the executor: host and
// device share one memory, and operations on a stream run immediately.

#include <kernel_dialect.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "verify/simt/executor/executor.h"
#include "verify/simt/streams/stream.h"

enum cudaError_t { cudaSuccess, cudaErrorMemoryAllocation, cudaErrorLaunchFailure };
enum cudaMemcpyKind { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost };
using cudaStream_t = recto::simt::Stream*;

inline const char* cudaGetErrorString(cudaError_t error) {
  constexpr const char* kTexts[] = {"no error", "out of memory", "unspecified launch failure"};
  return kTexts[error];
}

inline cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}

// Real device memory would not hold the heap's leftover contents, so the memory is filled with NaN.
inline cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  constexpr std::size_t kAlignment = 256;
  const std::size_t whole = (bytes / kAlignment + 1) * kAlignment;
  *memory = std::aligned_alloc(kAlignment, whole);
  if (*memory == nullptr) return cudaErrorMemoryAllocation;
  std::memset(*memory, 0xff, whole);
  return cudaSuccess;
}

inline cudaError_t cudaFree(void* memory) {
  std::free(memory);
  return cudaSuccess;
}

inline cudaError_t cudaMemset(void* memory, int byte, std::size_t bytes) {
  std::memset(memory, byte, bytes);
  return cudaSuccess;
}

inline cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes,
                                   cudaMemcpyKind /*kind*/, cudaStream_t stream) {
  stream->copy(to, from, bytes);
  return cudaSuccess;
}

// All streams of a program share one executor.
inline cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  static recto::simt::Executor executor({});
  *stream = new recto::simt::Stream(executor);
  return cudaSuccess;
}

inline cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  delete stream;
  return cudaSuccess;
}

inline cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return stream->synchronise().passed() ? cudaSuccess : cudaErrorLaunchFailure;
}
