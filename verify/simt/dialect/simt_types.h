#pragma once

// The built-in CUDA types that kernels may use: dimensions, and short vectors with CUDA's
// alignments.

#include <cstddef>
#include <cstdint>

#include "verify/simt/executor/kernel_thread.h"

using dim3 = recto::simt::Dim3;

#define RECTO_SIMT_VECTORS(type, name, alignment_of_2, alignment_of_4)        \
  struct name##1 {                                                            \
    type x;                                                                   \
  };                                                                          \
  struct alignas(alignment_of_2) name##2 {                                    \
    type x, y;                                                                \
  };                                                                          \
  struct name##3 {                                                            \
    type x, y, z;                                                             \
  };                                                                          \
  struct alignas(alignment_of_4) name##4 {                                    \
    type x, y, z, w;                                                          \
  };                                                                          \
  inline name##1 make_##name##1(type x) { return {x}; }                       \
  inline name##2 make_##name##2(type x, type y) { return {x, y}; }            \
  inline name##3 make_##name##3(type x, type y, type z) { return {x, y, z}; } \
  inline name##4 make_##name##4(type x, type y, type z, type w) { return {x, y, z, w}; }

RECTO_SIMT_VECTORS(signed char, char, 2, 4)
RECTO_SIMT_VECTORS(unsigned char, uchar, 2, 4)
RECTO_SIMT_VECTORS(short, short, 4, 8)
RECTO_SIMT_VECTORS(unsigned short, ushort, 4, 8)
RECTO_SIMT_VECTORS(int, int, 8, 16)
RECTO_SIMT_VECTORS(unsigned, uint, 8, 16)
RECTO_SIMT_VECTORS(long, long, 16, 16)
RECTO_SIMT_VECTORS(unsigned long, ulong, 16, 16)
RECTO_SIMT_VECTORS(long long, longlong, 16, 16)
RECTO_SIMT_VECTORS(unsigned long long, ulonglong, 16, 16)
RECTO_SIMT_VECTORS(float, float, 8, 16)
RECTO_SIMT_VECTORS(double, double, 16, 16)

#undef RECTO_SIMT_VECTORS
