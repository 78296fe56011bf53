#pragma once

// The executor's half of cuda/kernels/dialect/kernel_ptx.h: functions with the signatures of those
// that are inline PTX there, but without PTX.

#include <bit>
#include <cstdint>

#include "verify/simt/dialect/fast_math.h"
#include "verify/simt/dialect/simt_copies.h"
#include "verify/simt/dialect/simt_matrix.h"

namespace recto::simt::device {

// Subnormals become zeros of the same sign.
inline float flushed(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  return std::bit_cast<float>((bits & 0x7f800000) == 0 ? bits & 0x80000000 : bits);
}

}  // namespace recto::simt::device

inline float fast_exp2(float x) {
  namespace simt = recto::simt::device;
  return simt::flushed(simt::approximate(simt::ApproximateFunction::kExp2, simt::flushed(x)));
}

// Kernels of a stream run one after the other.
inline void wait_for_earlier_kernels() {}
inline void allow_next_kernel() {}

inline float fast_tanh(float x) {
  namespace simt = recto::simt::device;
  return simt::approximate(simt::ApproximateFunction::kFastTanh, x);
}
