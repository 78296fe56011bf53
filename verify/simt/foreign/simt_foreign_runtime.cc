#include "verify/simt/foreign/simt_foreign_runtime.h"

#include <map>
#include <mutex>

#include "verify/simt/executor/shared_memory.h"

namespace simt_foreign {
namespace {

using recto::simt::SharedMemory;

std::mutex mutex;
thread_local cudaError_t last_error = cudaSuccess;

// The limits of kernels for which cudaFuncSetAttribute was called.
std::map<const void*, std::size_t>& asked_for() {
  static std::map<const void*, std::size_t> bytes;
  return bytes;
}

cudaError_t told(cudaError_t error) {
  if (error != cudaSuccess) last_error = error;
  return error;
}

}  // namespace

std::size_t dynamic_shared_max(const void* kernel) {
  const std::scoped_lock lock(mutex);
  const auto found = asked_for().find(kernel);
  return found == asked_for().end() ? SharedMemory::kStaticBytesMax : found->second;
}

void set_last_error(cudaError_t error) { last_error = error; }

}  // namespace simt_foreign

extern "C" cudaError_t CUDARTAPI cudaFuncSetAttribute(const void* kernel,
                                                      cudaFuncAttribute attribute, int value) {
  using namespace simt_foreign;
  if (kernel == nullptr) return told(cudaErrorInvalidDeviceFunction);
  // A hint on how to divide the cache has no effect here.
  if (attribute == cudaFuncAttributePreferredSharedMemoryCarveout) return cudaSuccess;
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize || value < 0 ||
      static_cast<std::size_t>(value) > SharedMemory::kBytesMax) {
    return told(cudaErrorInvalidValue);
  }
  const std::scoped_lock lock(mutex);
  asked_for()[kernel] = static_cast<std::size_t>(value);
  return cudaSuccess;
}

extern "C" cudaError_t CUDARTAPI cudaGetLastError() {
  const cudaError_t error = simt_foreign::last_error;
  simt_foreign::last_error = cudaSuccess;
  return error;
}

extern "C" cudaError_t CUDARTAPI cudaPeekAtLastError() { return simt_foreign::last_error; }

extern "C" const char* CUDARTAPI cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "no error";
    case cudaErrorInvalidValue:
      return "invalid argument";
    case cudaErrorInvalidConfiguration:
      return "invalid configuration argument";
    case cudaErrorInvalidDeviceFunction:
      return "invalid device function";
    default:
      return "an error that the executor does not have";
  }
}
