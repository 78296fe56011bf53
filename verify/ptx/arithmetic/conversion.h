#pragma once

// cvt: PTX ISA, "Data Movement and Conversion Instructions: cvt". Conversions between
// floating-point formats are in rounding.h: narrowed() and narrowed_nearest() with .relu and
// .satfinite, widened(), rounded_to_f32(); this file adds integers, integral rounding, tf32 and
// packed forms.

#include <concepts>
#include <limits>
#include <type_traits>

#include "verify/ptx/arithmetic/float_arithmetic.h"

namespace recto::ptx {

// --- floating point to an integral value ---------------------------------------------------------

// .rni, .rzi, .rmi, .rpi to the same type. Zeros keep the sign of x.
template <typename T>
RECTO_PTX_INLINE T rounded_to_integral(T x, Rounding rounding) {
  // From 2^23 or 2^52 on, every number is integral; below, adding it rounds to an integer.
  constexpr T kAllIntegral = sizeof(T) == 4 ? T(0x1p23) : T(0x1p52);
  const T magnitude = x < 0 ? -x : x;
  const T nearest = (magnitude + kAllIntegral) - kAllIntegral;
  const bool is_negative = x < 0;
  const bool goes_up = (rounding == Rounding::kUp) & !is_negative;
  const bool goes_away = goes_up | ((rounding == Rounding::kDown) & is_negative);
  const T above = nearest < magnitude ? nearest + 1 : nearest;
  const T below = nearest > magnitude ? nearest - 1 : nearest;
  const T rounded = rounding == Rounding::kNearestEven ? nearest : goes_away ? above : below;
  const T result = magnitude < kAllIntegral ? rounded : magnitude;
  return std::bit_cast<T>(bits_of(result) | (bits_of(x) & ~(~decltype(bits_of(x)){0} >> 1)));
}

// --- floating point to an integer ----------------------------------------------------------------

// Rounded and clamped. NaN gives 0 from f16, bf16 and f32 to at most 32 bits, else the lowest bit
// pattern with the highest bit set. f16 and bf16 are converted as the f32 numbers they are.
template <typename Integer, typename T>
RECTO_PTX_INLINE Integer to_integer(T x, Rounding rounding) {
  using Limits = std::numeric_limits<Integer>;
  using Unsigned = std::make_unsigned_t<Integer>;
  const T integral = rounded_to_integral(x, rounding);
  // 2^digits, which T represents though it may not represent the largest integer.
  const T end = static_cast<T>(Unsigned{1} << (Limits::digits - 1)) * 2;
  const T begin = Limits::is_signed ? -end : T{0};
  const bool is_inside = (integral >= begin) & (integral < end);
  const auto inside = static_cast<Integer>(is_inside ? integral : T{0});
  const bool keeps_zero = sizeof(T) == 4 && sizeof(Integer) <= 4;
  const auto nan = static_cast<Integer>(
      keeps_zero ? Unsigned{0} : static_cast<Unsigned>(Unsigned{1} << (8 * sizeof(Integer) - 1)));
  const Integer clamped = integral >= end ? Limits::max() : is_inside ? inside : Limits::min();
  return x == x ? clamped : nan;
}

// --- integer to floating point -------------------------------------------------------------------

// x for a rounding to at most 50 bits: exact, or rounded to odd.
template <typename Integer>
RECTO_PTX_INLINE double odd_double(Integer x) {
  if constexpr (sizeof(Integer) <= 4) return static_cast<double>(x);
  const bool is_negative = x < 0;
  const auto bits = static_cast<std::uint64_t>(x);
  const std::uint64_t magnitude = is_negative ? ~bits + 1 : bits;
  // 54 bits, of which the last says whether any dropped bit was set, are rounded by one at most.
  const std::uint64_t upper = magnitude >> 11;
  const std::uint64_t sticky = (magnitude & 0x7ff) != 0 ? 1 : 0;
  const double large = static_cast<double>(upper | sticky) * 2048.0;
  const double number =
      magnitude < (std::uint64_t{1} << 53) ? static_cast<double>(magnitude) : large;
  return is_negative ? -number : number;
}

template <std::integral Integer>
RECTO_PTX_INLINE float to_f32(Integer x, const FloatMode& mode) {
  const float rounded = mode.rounding == Rounding::kNearestEven
                            ? static_cast<float>(x)
                            : rounded_to_f32(odd_double(x), mode.rounding);
  return limited(rounded, mode);
}

template <std::integral Integer>
RECTO_PTX_INLINE double to_f64(Integer x, const FloatMode& mode) {
  if constexpr (sizeof(Integer) <= 4) return limited(static_cast<double>(x), mode);
  // Two halves are exact, so that their sum is rounded once.
  const auto wide =
      static_cast<std::conditional_t<std::is_signed_v<Integer>, std::int64_t, std::uint64_t>>(x);
  const double upper = static_cast<double>(wide >> 32) * 0x1p32;
  return limited(add(upper, static_cast<double>(static_cast<std::uint32_t>(x)), mode), mode);
}

template <FloatFormat kFormat, std::integral Integer>
RECTO_PTX_INLINE std::uint32_t to_narrow(Integer x, const FloatMode& mode) {
  return narrowed<kFormat>(odd_double(x), mode);
}

// --- between f32 and f64 -------------------------------------------------------------------------

RECTO_PTX_INLINE float to_f32(double x, const FloatMode& mode) {
  return result(rounded_to_f32(x, mode.rounding), mode);
}
// f32 to f32, which changes a number only by its mode.
RECTO_PTX_INLINE float to_f32(float x, const FloatMode& mode) {
  return limited(operand(x, mode), mode);
}
RECTO_PTX_INLINE double to_f64(float x, const FloatMode& mode) {
  return limited(static_cast<double>(operand(x, mode)), mode);
}

// --- f32 to the narrow formats -------------------------------------------------------------------

template <FloatFormat kFormat>
RECTO_PTX_INLINE std::uint32_t to_narrow(float x, const FloatMode& mode) {
  const float a = operand(x, mode);
  return mode.rounding == Rounding::kNearestEven ? narrowed_nearest<kFormat>(a, mode)
                                                 : narrowed<kFormat>(a, mode);
}

// A tf32 in a 32-bit register, whose lower 13 bits are 0.
RECTO_PTX_INLINE std::uint32_t to_tf32(float x, const FloatMode& mode) {
  return narrowed<kTf32>(x, mode) << kTf32Shift;
}

// cvt.*.f16x2.f32 and its kin: a into the upper half, b into the lower.
template <FloatFormat kFormat>
RECTO_PTX_INLINE std::uint32_t packed(float a, float b, const FloatMode& mode) {
  return to_narrow<kFormat>(a, mode) << kFormat.bits() | to_narrow<kFormat>(b, mode);
}

// cvt.rn.satfinite.{e4m3x2, e5m2x2}.{f16x2, bf16x2}, half by half.
template <FloatFormat kTo, FloatFormat kFrom>
RECTO_PTX_INLINE std::uint32_t repacked(std::uint32_t halves, const FloatMode& mode) {
  return packed<kTo>(widened<kFrom>(halves >> 16), widened<kFrom>(halves & 0xffff), mode);
}

// cvt.rn.f16x2.{e4m3x2, e5m2x2}, which is exact.
template <FloatFormat kFrom>
RECTO_PTX_INLINE std::uint32_t unpacked_to_f16x2(std::uint32_t pair, const FloatMode& mode) {
  return packed<kF16>(widened<kFrom>(pair >> 8 & 0xff), widened<kFrom>(pair & 0xff), mode);
}

// --- integer to integer --------------------------------------------------------------------------

// With .sat, x is clamped to the destination's range; else its lower bits are taken.
template <typename To, typename From>
RECTO_PTX_INLINE To saturated(From x) {
  using Limits = std::numeric_limits<To>;
  const bool is_negative = x < 0;
  const auto magnitude = static_cast<std::uint64_t>(x);
  if (is_negative) {
    return !Limits::is_signed ||
                   static_cast<std::int64_t>(x) < static_cast<std::int64_t>(Limits::min())
               ? Limits::min()
               : static_cast<To>(x);
  }
  return magnitude > static_cast<std::uint64_t>(Limits::max()) ? Limits::max() : static_cast<To>(x);
}

}  // namespace recto::ptx
