#pragma once

// Approximate instructions: PTX ISA, "Floating Point Instructions" and "Half Precision Floating
// Point Instructions". Each gives its most accurate value, or one within its documented error that
// a hash of the operands chooses.

#include <cstdint>

#include "verify/ptx/arithmetic/comparison.h"

namespace recto::ptx {

// .approx, and div.full.
enum class ApproximateFunction : std::uint8_t {
  kRcp,
  kSqrt,
  kRsqrt,
  kSin,
  kCos,
  kLg2,
  kEx2,
  kTanh,
  kDiv,
  kDivFull,
};

enum class Approximation : std::uint8_t {
  kAccurate,   // correctly rounded, as far as fp64 arithmetic can decide
  kPerturbed,  // off by up to the documented error
};

struct ApproximationMode {
  Approximation approximation = Approximation::kAccurate;
  std::uint64_t seed = 0;
  bool flush = false;  // .ftz
};

// The largest documented distance of an f32 result from the exact one, for an operand x. Special
// values (those of the ISA's tables, and 0, 1 and -1) are exact. The ISA gives no error for sine
// and cosine beyond 100 pi; here, it stays the same.
double documented_error(ApproximateFunction function, float x, double exact);

// The same for ex2 and tanh of f16, or of bf16.
template <FloatFormat kFormat>
double documented_narrow_error(ApproximateFunction function, double exact);

// The f32 instructions of one operand.
float approximate(ApproximateFunction function, float x, const ApproximationMode& mode);

// div.approx and div.full.
float approximate_quotient(ApproximateFunction function, float x, float y,
                           const ApproximationMode& mode);

// ex2 and tanh of f16 or bf16 codes. Of these, ex2 of bf16 flushes, whatever the mode says.
template <FloatFormat kFormat>
std::uint32_t approximate_narrow(ApproximateFunction function, std::uint32_t code,
                                 const ApproximationMode& mode);

// rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64, from and to the upper halves of fp64 numbers. The
// ISA documents no error, so these are always accurate.
double approximate_upper_half(ApproximateFunction function, double x);

// 2^x = scale (1 + rest), by additions and products: the same bits on every machine.
struct PowerOfTwo {
  double scale = 1;
  double rest = 0;  // between 2^-0.5 - 1 and 2^0.5 - 1, with a relative error below 2^-50
};

RECTO_PTX_INLINE PowerOfTwo power_of_two(double x) {
  // Beyond these, every fp32 result is 0 or infinite.
  const double above = x < -200 ? -200 : x;
  const double bounded = above > 200 ? 200 : above;
  // Adding it rounds to an integer, which is then in the lowest bits.
  constexpr double kMagic = 0x1.8p52;
  const double shifted = bounded + kMagic;
  const double f = bounded - (shifted - kMagic);
  // Taylor's ln(2)^k / k!: for |f| <= 1/2, the first term left out is 2^-52.6.
  double sum = 0x1.c3bd650fc2986p-36;
  sum = sum * f + 0x1.e8cac7351bb25p-32;
  sum = sum * f + 0x1.e4cf5158b8ecap-28;
  sum = sum * f + 0x1.b5253d395e7c4p-24;
  sum = sum * f + 0x1.62c0223a5c824p-20;
  sum = sum * f + 0x1.ffcbfc588b0c7p-17;
  sum = sum * f + 0x1.430912f86c787p-13;
  sum = sum * f + 0x1.5d87fe78a6731p-10;
  sum = sum * f + 0x1.3b2ab6fba4e77p-7;
  sum = sum * f + 0x1.c6b08d704a0c0p-5;
  sum = sum * f + 0x1.ebfbdff82c58fp-3;
  sum = sum * f + 0x1.62e42fefa39efp-1;
  return {double_of(bits_of(1.0) + (bits_of(shifted) << 52)), sum * f};
}

RECTO_PTX_INLINE double exp2_of(double x) {
  const PowerOfTwo power = power_of_two(x);
  return power.scale * (1 + power.rest);
}

// (e^2x - 1) / (e^2x + 1), whose numerator is not a difference of near numbers.
RECTO_PTX_INLINE double tanh_of(double x) {
  constexpr double kTwiceLog2E = 0x1.71547652b82fep+1;
  const PowerOfTwo power = power_of_two(abs(x, {}) * kTwiceLog2E);
  const double less_one = power.scale * power.rest + (power.scale - 1);
  return copysign(x, less_one / (less_one + 2));
}

// Accurate values for loops over lanes; rcp and sqrt to nearest are those of float_arithmetic.h.
RECTO_PTX_INLINE float accurate_ex2(float x, const FloatMode& mode) {
  return result(static_cast<float>(exp2_of(operand(x, mode))), mode);
}
// (Not constexpr: clang's square root is not.)
[[gnu::always_inline]] inline float accurate_rsqrt(float x, const FloatMode& mode) {
  return result(static_cast<float>(1 / __builtin_sqrt(static_cast<double>(operand(x, mode)))),
                mode);
}
RECTO_PTX_INLINE float accurate_div(float x, float y, const FloatMode& mode) {
  // A divisor beyond 2^126 has no normal reciprocal; 0 is used instead.
  const float b = operand(y, mode);
  const float infinity = float_of((bits_of(b) & 0x80000000) | 0x7f800000);
  const bool is_beyond = (b < -0x1p126F) | (b > 0x1p126F);
  return div(x, is_beyond ? infinity : b, mode);
}

}  // namespace recto::ptx
