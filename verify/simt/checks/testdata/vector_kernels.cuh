#pragma once

// Kernels for tests of the checks: vectors in shared memory, and findings on several lines.

#include <kernel_dialect.h>

namespace recto::simt {

// Vectors of four are loaded from shared memory, and of two stored there, `shift` floats further.
__global__ void load_shared_fours(float* out, int shift);
__global__ void store_shared_twos(float* out, int shift);

// Five reads, on five lines.
__global__ void read_unwritten_on_lines(const float* unwritten, float* out);

}  // namespace recto::simt
