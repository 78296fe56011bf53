#pragma once

// The arithmetic of tensor cores, without lanes: sum += a b, with a of 16 x depth, b of depth x 8.

#include "verify/simt/executor/arithmetic.h"

namespace recto::simt {

inline constexpr int kMatrixRows = 16;
inline constexpr int kMatrixColumns = 8;
inline constexpr int kMatrixDepthMax = 16;

// Elements are numbers of 16 bits, which fp32 holds exactly.
struct MatrixProduct {
  int depth = kMatrixDepthMax;
  float a[kMatrixRows][kMatrixDepthMax] = {};
  float b[kMatrixDepthMax][kMatrixColumns] = {};
  float sum[kMatrixRows][kMatrixColumns] = {};
};

// NaN is fp32's canonical one. Of a truncated sum, the exponent of a product is the sum of its
// factors', whose significands are in [1, 2), as the hardware aligns before it normalises; zeros
// have none. Bits below 2^(largest exponent - 23 - extra_bits) are dropped.
void multiply_accumulate(MatrixProduct& product, const Arithmetic& arithmetic);

}  // namespace recto::simt
