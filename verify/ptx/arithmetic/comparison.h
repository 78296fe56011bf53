#pragma once

// Minimum, maximum and comparisons: PTX ISA, "Floating Point Instructions: min, max, testp,
// copysign", "Half Precision Floating Point Instructions: min, max" and "Comparison and Selection
// Instructions".

#include "verify/ptx/arithmetic/float_arithmetic.h"

namespace recto::ptx {

// --- min and max --------------------------------------------------------------------------------

enum class Extreme : std::uint8_t { kMin, kMax };

// -0 is below +0. A number wins over NaN, unless .NaN is given.
template <typename T>
RECTO_PTX_INLINE T extreme(Extreme which, T a, T b, const FloatMode& mode) {
  if constexpr (sizeof(T) == sizeof(float)) {
    a = operand(a, mode);
    b = operand(b, mode);
  }
  const bool is_max = which == Extreme::kMax;
  const auto bits = is_max ? bits_of(a) & bits_of(b) : bits_of(a) | bits_of(b);
  const T larger = a > b ? a : b;
  const T smaller = a < b ? a : b;
  const T numbers = a == b ? std::bit_cast<T>(bits) : is_max ? larger : smaller;
  // The comparisons choose b if either is NaN.
  const T number = b == b ? numbers : a;
  const T nan = a == a ? numbers : a;
  return canonical(mode.number_wins ? number : nan);
}

template <FloatFormat kFormat>
RECTO_PTX_INLINE std::uint32_t extreme(Extreme which, std::uint32_t a, std::uint32_t b,
                                       const FloatMode& mode) {
  return narrowed_nearest<kFormat>(
      extreme(which, operand<kFormat>(a, mode), operand<kFormat>(b, mode), mode), {});
}

// --- predicates ---------------------------------------------------------------------------------

// testp. Zeros count as normal.
enum class FloatClass : std::uint8_t {
  kFinite,
  kInfinite,
  kNumber,
  kNotANumber,
  kNormal,
  kSubnormal,
};

template <typename T>
RECTO_PTX_INLINE bool is_of(FloatClass which, T x) {
  constexpr int kFraction = sizeof(T) == 4 ? 23 : 52;
  const auto magnitude = bits_of(x) << 1 >> 1;
  const auto infinity = bits_of(static_cast<T>(__builtin_inf()));
  const bool is_subnormal = (magnitude != 0) & (magnitude >> kFraction == 0);
  switch (which) {
    case FloatClass::kFinite:
      return magnitude < infinity;
    case FloatClass::kInfinite:
      return magnitude == infinity;
    case FloatClass::kNumber:
      return magnitude <= infinity;
    case FloatClass::kNotANumber:
      return magnitude > infinity;
    case FloatClass::kNormal:
      return (magnitude < infinity) & !is_subnormal;
    case FloatClass::kSubnormal:
      return is_subnormal;
  }
  return false;
}

// The magnitude of b with the sign of a.
RECTO_PTX_INLINE float copysign(float a, float b) {
  return float_of((bits_of(a) & 0x80000000) | (bits_of(b) & 0x7fffffff));
}
RECTO_PTX_INLINE double copysign(double a, double b) {
  return double_of((bits_of(a) & kSign64) | (bits_of(b) & ~kSign64));
}

// set, setp and slct. The first six are false for NaN; those with a trailing u are true. Unsigned
// integers' lo, ls, hi and hs are kLt, kLe, kGt and kGe of the type.
enum class Comparison : std::uint8_t {
  kEq,
  kNe,
  kLt,
  kLe,
  kGt,
  kGe,
  kEqu,
  kNeu,
  kLtu,
  kLeu,
  kGtu,
  kGeu,
  kNum,
  kNan,
};

// f16 and bf16 are compared as the fp32 numbers they are.
template <typename T>
RECTO_PTX_INLINE bool compare(Comparison which, T a, T b) {
  switch (which) {
    case Comparison::kEq:
      return a == b;
    case Comparison::kNe:
      return (a < b) | (a > b);
    case Comparison::kLt:
      return a < b;
    case Comparison::kLe:
      return a <= b;
    case Comparison::kGt:
      return a > b;
    case Comparison::kGe:
      return a >= b;
    case Comparison::kEqu:
      return !((a < b) | (a > b));
    case Comparison::kNeu:
      return !(a == b);
    case Comparison::kLtu:
      return !(a >= b);
    case Comparison::kLeu:
      return !(a > b);
    case Comparison::kGtu:
      return !(a <= b);
    case Comparison::kGeu:
      return !(a < b);
    case Comparison::kNum:
      return (a == a) & (b == b);
    case Comparison::kNan:
      return (a != a) | (b != b);
  }
  return false;
}

}  // namespace recto::ptx
