#pragma once

// The executor's half of the dialect in which kernels are written. It precedes cuda/kernels/dialect
// on the include path of everything that the host compiler builds for verify/simt, and makes plain
// CUDA C++ run there. ../README.md lists what a kernel may use; simt_refused.h refuses CUDA's other
// names.

#include <cstdio>  // printf

#include "verify/simt/dialect/simt_atomics.h"
#include "verify/simt/dialect/simt_fp8.h"
#include "verify/simt/dialect/simt_half.h"
#include "verify/simt/dialect/simt_half_arithmetic.h"
#include "verify/simt/dialect/simt_half_comparison.h"
#include "verify/simt/dialect/simt_integer.h"
#include "verify/simt/dialect/simt_launch.h"
#include "verify/simt/dialect/simt_math.h"
#include "verify/simt/dialect/simt_memory.h"
#include "verify/simt/dialect/simt_trap.h"
#include "verify/simt/dialect/simt_types.h"
#include "verify/simt/dialect/simt_warp.h"

// After all other headers, because they use parts of C++ that it refuses.
#include "verify/simt/dialect/simt_refused.h"

namespace recto::simt::device {
int variables_are_not_supported();  // verify/simt: a __device__ variable is not supported
}

// An attribute that only functions may have, whose text compilers show when it is on a variable.
#pragma GCC diagnostic error "-Wattributes"
#if defined(__clang__)
#define RECTO_SIMT_OF no_instrument_function  // verify/simt: a __device__ variable is not supported
#else
#define RECTO_SIMT_OF copy(::recto::simt::device::variables_are_not_supported)
#endif

#define __device__ __attribute__((RECTO_SIMT_OF))
#define __global__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __restrict__ __restrict
#define __align__(bytes) __attribute__((aligned(bytes)))
// There is no way to copy to such a variable, and nothing else may write to it. (Not `const`,
// because the variable may be declared const as well.)
#define __constant__ constexpr

// Declares T name DIMENSIONS; in shared memory: KERNEL_SHARED(float, tile, [4][32]).
#define KERNEL_SHARED(type, name, ...) KERNEL_SHARED_ALIGNED(alignof(type), type, name, __VA_ARGS__)

// The same, aligned to `alignment` bytes, for accesses that are wider than T.
#define KERNEL_SHARED_ALIGNED(alignment, type, name, ...) \
  using name##_shared_type = type __VA_ARGS__;            \
  RECTO_SIMT_SHARED(name, name##_shared_type, alignment)

// Declares extern T name[], with the number of bytes that the launch gives, aligned to 16 bytes.
#define KERNEL_DYNAMIC_SHARED(type, name)                    \
  static_assert(alignof(type) <= 16, "aligned to 16 bytes"); \
  type* const name = static_cast<type*>(::recto::simt::device::dynamic_shared(16))

// Waits for all thread blocks of a cooperative launch.
inline void grid_barrier(RECTO_SIMT_SITE) { recto::simt::device::grid_barrier(site); }
