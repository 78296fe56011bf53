#pragma once

// Functions of the CUDA runtime that stand beside launches, as far as sources cannot do without:
// cudaFuncSetAttribute, cudaGetLastError, cudaPeekAtLastError, cudaGetErrorString, whose
// declarations are the toolkit's.

#include <cuda_runtime.h>

#include <cstddef>

#include "verify/simt/executor/device_api.h"

namespace simt_foreign {

// What launches of this kernel may ask for: 48 KiB, or what cudaFuncSetAttribute was told.
std::size_t dynamic_shared_max(const void* kernel);

// What the calling OS thread's next cudaGetLastError returns, unless something goes wrong before.
void set_last_error(cudaError_t error);

template <typename... Parameters>
const void* address_of(void (*kernel)(Parameters...)) {
  return reinterpret_cast<const void*>(kernel);
}

// translate.py puts it at the begin of kernels with __launch_bounds__(threads, ...).
inline void require_launch_bounds(unsigned threads, int /*blocks*/ = 0, int /*cluster*/ = 0,
                                  int line = __builtin_LINE(),
                                  const char* file = __builtin_FILE()) {
  recto::simt::device::require_threads_up_to(threads, {file, line});
}

}  // namespace simt_foreign

template <typename... Parameters>
cudaError_t cudaFuncSetAttribute(void (*kernel)(Parameters...), cudaFuncAttribute attribute,
                                 int value) {
  return cudaFuncSetAttribute(simt_foreign::address_of(kernel), attribute, value);
}
