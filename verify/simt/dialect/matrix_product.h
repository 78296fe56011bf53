#pragma once

// The arithmetic of tensor cores, without lanes: sum += a b, with a of 16 x depth, b of depth x 8.

#include "verify/simt/executor/arithmetic.h"

namespace recto::simt {

inline constexpr int kMatrixRows = 16;
inline constexpr int kMatrixColumns = 8;
inline constexpr int kMatrixDepthMax = 16;

// The elements of a and b are 16-bit numbers, which fp32 represents exactly.
struct MatrixProduct {
  int depth = kMatrixDepthMax;
  float a[kMatrixRows][kMatrixDepthMax] = {};
  float b[kMatrixDepthMax][kMatrixColumns] = {};
  float sum[kMatrixRows][kMatrixColumns] = {};
};

// NaNs are fp32's canonical one. In a truncated sum, the exponent of a product is the sum of the
// exponents of its factors, whose significands are in [1, 2), because the hardware aligns before it
// normalises; zeros have no exponent. Bits below 2^(largest exponent - 23 - extra_bits) are
// dropped.
void multiply_accumulate(MatrixProduct& product, const Arithmetic& arithmetic);

}  // namespace recto::simt
