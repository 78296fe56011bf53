#pragma once

// A read whose result is unused, of the element `beyond` a thread's own. It is compiled without
// optimisation, and with an optimiser that removes it.

#include <kernel_dialect.h>

namespace recto::simt {

__global__ void read_dead_optimised(const float* in, float* out, int beyond);
__global__ void read_dead_unoptimised(const float* in, float* out, int beyond);

#define RECTO_SIMT_READ_DEAD(name)                                \
  __global__ void name(const float* in, float* out, int beyond) { \
    const auto own = static_cast<int>(threadIdx.x);               \
    [[maybe_unused]] const float next = in[own + beyond];         \
    out[own] = in[own];                                           \
  }

}  // namespace recto::simt
