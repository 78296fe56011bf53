#pragma once

// Rounding to floating-point formats of 16 and 8 bits, and back, bit by bit. Nothing here branches
// on a value (both sides of each choice are computed first), so that MemorySanitizer and similar
// tools propagate the taint of an argument into the result.

#include <bit>
#include <cstdint>

namespace recto::simt::device {

enum class Rounding : std::uint8_t { kNearestEven, kTowardsZero, kUp, kDown };

// Sign, exponent and fraction; all exponents but the lowest imply a leading one.
struct NarrowFormat {
  int exponent_bits = 0;
  int fraction_bits = 0;

  constexpr int exponent_min() const { return 2 - (1 << (exponent_bits - 1)); }
  constexpr int bits() const { return 1 + exponent_bits + fraction_bits; }
  constexpr std::uint32_t sign() const { return std::uint32_t{1} << (bits() - 1); }
  constexpr std::uint32_t nan() const { return sign() - 1; }  // NVIDIA's canonical one
  constexpr std::uint32_t infinity() const {
    return ((std::uint32_t{1} << exponent_bits) - 1) << fraction_bits;
  }
};

inline constexpr NarrowFormat kHalf = {5, 10};
inline constexpr NarrowFormat kBfloat16 = {8, 7};
inline constexpr NarrowFormat kE4m3 = {4, 3};
inline constexpr NarrowFormat kE5m2 = {5, 2};

inline constexpr int kDoubleFractionBits = 52;
inline constexpr std::uint64_t kDoubleSign = std::uint64_t{1} << 63;
inline constexpr std::uint64_t kDoubleInfinity = std::uint64_t{0x7ff} << kDoubleFractionBits;

constexpr bool is_nan_bits(std::uint64_t double_bits) {
  return (double_bits & ~kDoubleSign) > kDoubleInfinity;
}

// Whether the remainder rounds the magnitude up by one.
template <Rounding kRounding>
constexpr bool rounds_away(std::uint64_t kept, std::uint64_t rest, std::uint64_t half,
                           std::uint64_t sign) {
  switch (kRounding) {
    case Rounding::kNearestEven:
      return (rest > half) | ((rest == half) & ((kept & 1) != 0));
    case Rounding::kTowardsZero:
      return false;
    case Rounding::kUp:
      return (rest != 0) & (sign == 0);
    case Rounding::kDown:
      return (rest != 0) & (sign != 0);
  }
  return false;
}

// The code of |x| as if there were no largest exponent: overflow gives a code above infinity's. x
// must not be NaN.
template <NarrowFormat kFormat, Rounding kRounding = Rounding::kNearestEven>
constexpr std::uint64_t magnitude_code(double x) {
  const auto bits = std::bit_cast<std::uint64_t>(x);
  const std::uint64_t magnitude = bits & ~kDoubleSign;
  const auto field = static_cast<int>(magnitude >> kDoubleFractionBits);
  constexpr std::uint64_t kOne = std::uint64_t{1} << kDoubleFractionBits;
  const std::uint64_t significand = (magnitude & (kOne - 1)) | (field > 0 ? kOne : 0);
  // How far the exponent is above the lowest; below it, numbers keep fewer bits.
  const int above = field - 1023 - kFormat.exponent_min();
  const int lost = above < 0 ? -above : 0;
  constexpr int kSpare = kDoubleFractionBits - kFormat.fraction_bits;
  const int dropped =
      kSpare + (lost < kFormat.fraction_bits + 3 ? lost : kFormat.fraction_bits + 3);
  const std::uint64_t kept = significand >> dropped;
  const std::uint64_t rest = significand - (kept << dropped);
  const bool away =
      rounds_away<kRounding>(kept, rest, std::uint64_t{1} << (dropped - 1), bits & kDoubleSign);
  const std::uint64_t exponent = above > 0 ? static_cast<std::uint64_t>(above) : 0;
  return (exponent << kFormat.fraction_bits) + kept + (away ? 1 : 0);
}

template <NarrowFormat kFormat>
constexpr std::uint32_t sign_code(double x) {
  return (std::bit_cast<std::uint64_t>(x) & kDoubleSign) != 0 ? kFormat.sign() : 0;
}

// Converts to a format with infinities, as in IEEE 754; NaN becomes the canonical NaN.
template <NarrowFormat kFormat, Rounding kRounding = Rounding::kNearestEven>
constexpr std::uint16_t narrowed(double x) {
  const auto bits = std::bit_cast<std::uint64_t>(x);
  const std::uint64_t code = magnitude_code<kFormat, kRounding>(x);
  // Rounding towards zero keeps finite numbers finite.
  const bool is_cut = (kRounding != Rounding::kNearestEven) &
                      !rounds_away<kRounding>(1, 1, 1, bits & kDoubleSign) &
                      ((bits & ~kDoubleSign) < kDoubleInfinity);
  const std::uint64_t largest = kFormat.infinity() - (is_cut ? 1 : 0);
  const auto bounded = static_cast<std::uint32_t>(code < largest ? code : largest);
  const std::uint32_t number = bounded | sign_code<kFormat>(x);
  return static_cast<std::uint16_t>(is_nan_bits(bits) ? kFormat.nan() : number);
}

// Exact; treats the largest exponent like any other.
template <NarrowFormat kFormat>
constexpr float widened_finite(std::uint32_t magnitude) {
  constexpr int kShift = 23 - kFormat.fraction_bits;
  constexpr auto kScaleExponent = static_cast<std::uint32_t>(127 + 126 + kFormat.exponent_min());
  // The fp32 number with the same fields differs only by the exponents' offset, subnormal or not.
  return std::bit_cast<float>(magnitude << kShift) * std::bit_cast<float>(kScaleExponent << 23);
}

// Exact, for a format with infinities. NaNs become fp32's canonical one.
template <NarrowFormat kFormat>
constexpr float widened(std::uint32_t code) {
  const std::uint32_t magnitude = code & (kFormat.sign() - 1);
  const bool is_nan = magnitude > kFormat.infinity();
  const auto finite = std::bit_cast<std::uint32_t>(widened_finite<kFormat>(magnitude));
  const std::uint32_t infinite = is_nan ? 0x7fffffff : 0x7f800000;
  const std::uint32_t sign_bit = (code & kFormat.sign()) << (32 - kFormat.bits());
  const std::uint32_t sign = is_nan ? 0 : sign_bit;
  return std::bit_cast<float>((magnitude < kFormat.infinity() ? finite : infinite) | sign);
}

// The same, as CUDA converts it: a bfloat16 is the upper half of an fp32 number, NaNs included.
template <NarrowFormat kFormat>
constexpr float converted(std::uint32_t code) {
  if constexpr (kFormat.exponent_bits == 8) return std::bit_cast<float>(code << 16);
  return widened<kFormat>(code);
}

// a * b + c, rounded once: what fp64 rounds off is recorded in its last bit (rounding to odd), so
// that rounding again to at most half as many bits is correct. a * b is exact for 16-bit formats.
template <NarrowFormat kFormat>
constexpr std::uint16_t fused(float a, float b, float c) {
  const double product = static_cast<double>(a) * static_cast<double>(b);
  const double addend = c;
  const double sum = product + addend;
  // The exact rounding error (Knuth's two-sum).
  const double virtual_addend = sum - product;
  const double lost = (product - (sum - virtual_addend)) + (addend - virtual_addend);
  const auto bits = std::bit_cast<std::uint64_t>(sum);
  const bool is_towards_zero = (lost < 0) == ((bits & kDoubleSign) != 0);
  const std::uint64_t odd = is_towards_zero ? bits + 1 : bits - 1;
  const bool is_inexact = (lost < 0) | (lost > 0);
  return narrowed<kFormat>(std::bit_cast<double>((is_inexact & ((bits & 1) == 0)) ? odd : bits));
}

}  // namespace recto::simt::device
