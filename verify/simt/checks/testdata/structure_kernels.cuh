#pragma once

// Kernels that copy whole structures, with unwritten bytes between the members; and a wait by
// atomic operations.

#include <kernel_dialect.h>

namespace recto::simt {

struct PaddedShort {
  char kind;
  short value;
};
struct PaddedInt {
  char kind;
  int value;
  short last;
};
struct PaddedDouble {
  char kind;
  double value;
  int last;
};
struct ThreeFloats {
  float x;
  float value;
  float last;
};

// Thread t of 32 writes a structure and sums the members of thread 31 - t's, in shared memory.
// Thread `skipped` leaves out `value`.
template <typename T>
__global__ void exchange_structures(float* out, int skipped);
// The same in a kWriteFirst buffer, by memcpy.
template <typename T>
__global__ void exchange_by_memcpy(T* all, float* out, int skipped);

// The first warp waits for a word of the second warp; `waits` is 32.
__global__ void wait_for_warp(int* out, int waits);

}  // namespace recto::simt
