#pragma once

// Functions of the CUDA runtime that sources need around launches: cudaFuncSetAttribute,
// cudaGetLastError, cudaPeekAtLastError, cudaGetErrorString. The toolkit declares them.

#include <cuda_runtime.h>

#include <cstddef>

#include "verify/simt/executor/device_api.h"

namespace simt_foreign {

// The limit for launches of this kernel: 48 KiB, or what cudaFuncSetAttribute has set.
std::size_t dynamic_shared_max(const void* kernel);

// Sets what the calling OS thread's next cudaGetLastError returns, unless another error comes
// first.
void set_last_error(cudaError_t error);

template <typename... Parameters>
const void* address_of(void (*kernel)(Parameters...)) {
  return reinterpret_cast<const void*>(kernel);
}

// translate.py inserts a call at the beginning of kernels with __launch_bounds__(threads, ...).
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
