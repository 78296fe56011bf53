#include "reference/fp32_arithmetic.h"

#include <algorithm>
#include <bit>
#include <cstdint>

#include "core/random_stream.h"

namespace recto::reference {
namespace {

// One unit in the last place; for subnormal values, the unit of the smallest normal numbers.
double ulp_of(double value) {
  int exponent = 0;
  std::frexp(std::max(std::abs(value), 0x1p-126), &exponent);
  return std::ldexp(1.0, exponent - 24);
}

// A number at most `distance` (at least two ulp) from `exact`, close to the farthest such number.
float off_by(double distance, double exact, float argument) {
  if (!std::isfinite(exact)) return static_cast<float>(exact);
  const bool is_above = mix_bits(std::bit_cast<std::uint32_t>(argument)) % 2 == 0;
  auto off = static_cast<float>(is_above ? exact + distance : exact - distance);
  if (std::abs(off - exact) > distance) off = std::nextafter(off, static_cast<float>(exact));
  return off;
}

float off_by_ulps(double ulps, double exact, float argument) {
  return off_by(ulps * ulp_of(exact), exact, argument);
}

float fast_power(double ulps, double exact, float x) {
  if (x == 0.0F) return 1.0F;
  const float power = off_by_ulps(ulps, exact, x);
  return power < 0x1p-126F ? 0.0F : power;
}

float fast_logarithm(double exact, double distance, double ulps, float x) {
  return 0.5F <= x && x <= 2.0F ? off_by(distance, exact, x) : off_by_ulps(ulps, exact, x);
}

}  // namespace

float Fp32Arithmetic::exp(float x) const {
  if (functions == MathFunctions::kLibrary) return flushed(std::exp(x));
  const double argument = x;
  return fast_power(2 + std::floor(1.173 * std::abs(argument)), std::exp(argument), x);
}

float Fp32Arithmetic::log(float x) const {
  if (functions == MathFunctions::kLibrary) return flushed(std::log(x));
  return flushed(fast_logarithm(std::log(static_cast<double>(x)), std::exp2(-21.41), 3, x));
}

float Fp32Arithmetic::tanh(float x) const {
  if (functions == MathFunctions::kLibrary) return flushed(std::tanh(x));
  const double exact = std::tanh(static_cast<double>(x));
  return flushed(off_by(0x1p-11 * std::abs(exact), exact, x));
}

float Fp32Arithmetic::power(float x) const {
  if (base == ExponentialBase::kE) return exp(x);
  if (functions == MathFunctions::kLibrary) return flushed(std::exp2(x));
  return fast_power(2, std::exp2(static_cast<double>(x)), x);
}

float Fp32Arithmetic::logarithm(float x) const {
  if (base == ExponentialBase::kE) return log(x);
  if (functions == MathFunctions::kLibrary) return flushed(std::log2(x));
  return flushed(fast_logarithm(std::log2(static_cast<double>(x)), 0x1p-22, 2, x));
}

}  // namespace recto::reference
