#pragma once

// Floating-point formats of PTX, and rounding to them in every mode. The functions do not branch on
// values, so that loops over the lanes of a warp are vectorised. They are always inlined: a file
// that is compiled for a newer instruction set never gives its code to others.

#include <bit>
#include <cstdint>

#define RECTO_PTX_INLINE [[gnu::always_inline]] inline constexpr

namespace recto::ptx {

// PTX ISA, "Rounding Modifiers": .rn .rna .rz .rm .rp, and with a trailing i to integers.
enum class Rounding : std::uint8_t { kNearestEven, kNearestAway, kZero, kDown, kUp };

// What an instruction does beside rounding.
struct FloatMode {
  Rounding rounding = Rounding::kNearestEven;
  bool flush = false;       // .ftz: subnormal operands and results become zeros of their sign
  bool saturate = false;    // .sat: results are clamped to [0, 1], and NaN becomes +0
  bool relu = false;        // .relu: negative results become +0, NaN the canonical one
  bool satfinite = false;   // .satfinite: overflow and infinity become the largest finite number
  bool number_wins = true;  // min, max: false with .NaN, which makes NaN of a NaN operand
};

// Sign, exponent and fraction; all exponents but the lowest imply a leading one.
struct FloatFormat {
  int exponent_bits = 0;
  int fraction_bits = 0;
  bool has_infinity = true;  // else the largest code is NaN, and all others are numbers

  constexpr int exponent_min() const { return 2 - (1 << (exponent_bits - 1)); }
  constexpr int bits() const { return 1 + exponent_bits + fraction_bits; }
  constexpr std::uint32_t sign() const { return std::uint32_t{1} << (bits() - 1); }
  // The canonical one, which every operation yields.
  constexpr std::uint32_t nan() const { return sign() - 1; }
  constexpr std::uint32_t infinity() const {
    return ((std::uint32_t{1} << exponent_bits) - 1) << fraction_bits;
  }
  constexpr std::uint32_t largest() const { return has_infinity ? infinity() - 1 : nan() - 1; }
};

// PTX ISA, "Fundamental Types" and "Alternate Floating-Point Data Formats". A tf32 is the upper 19
// bits of a 32-bit register.
inline constexpr FloatFormat kF16 = {5, 10};
inline constexpr FloatFormat kBf16 = {8, 7};
inline constexpr FloatFormat kTf32 = {8, 10};
inline constexpr FloatFormat kF32 = {8, 23};
inline constexpr FloatFormat kE4m3 = {4, 3, false};
inline constexpr FloatFormat kE5m2 = {5, 2};
inline constexpr int kTf32Shift = 13;

// The NaNs that operations yield: an fp32 one by the CUDA C++ Programming Guide, "Floating-Point
// Standard", an fp64 one by CUDART_NAN of <math_constants.h>.
inline constexpr std::uint32_t kNan32 = 0x7fffffff;
inline constexpr std::uint64_t kNan64 = 0xfff8000000000000;
inline constexpr std::uint64_t kSign64 = std::uint64_t{1} << 63;
inline constexpr std::uint64_t kInfinity64 = std::uint64_t{0x7ff} << 52;

RECTO_PTX_INLINE std::uint32_t bits_of(float x) { return std::bit_cast<std::uint32_t>(x); }
RECTO_PTX_INLINE std::uint64_t bits_of(double x) { return std::bit_cast<std::uint64_t>(x); }
RECTO_PTX_INLINE float float_of(std::uint32_t bits) { return std::bit_cast<float>(bits); }
RECTO_PTX_INLINE double double_of(std::uint64_t bits) { return std::bit_cast<double>(bits); }

// The canonical NaN instead of any other.
RECTO_PTX_INLINE float canonical(float x) { return x == x ? x : float_of(kNan32); }
RECTO_PTX_INLINE double canonical(double x) { return x == x ? x : double_of(kNan64); }

// A zero of the same sign instead of a subnormal number.
RECTO_PTX_INLINE float flushed(float x) {
  const std::uint32_t bits = bits_of(x);
  return float_of((bits & 0x7f800000) != 0 ? bits : bits & 0x80000000);
}
template <FloatFormat kFormat>
RECTO_PTX_INLINE std::uint32_t flushed(std::uint32_t code) {
  return (code & kFormat.infinity()) != 0 ? code : code & kFormat.sign();
}

// A magnitude rounded to a multiple of `unit`, a power of two of at least its 2^-52nd part, as the
// number of units. Adding a large number rounds to nearest, which the other modes correct; shifts
// by a variable amount would keep loops from being vectorised.
RECTO_PTX_INLINE std::uint64_t rounded_units(double magnitude, double unit, Rounding rounding,
                                             std::uint64_t sign) {
  const double base = unit * 0x1p52;
  const double sum = magnitude + base;
  const double near = sum - base;
  const std::uint64_t nearest = bits_of(sum) - bits_of(base);
  const std::uint64_t below = near > magnitude ? nearest - 1 : nearest;
  const std::uint64_t above = near < magnitude ? nearest + 1 : nearest;
  const double rest = magnitude - near;
  const std::uint64_t away = rest + rest >= unit ? nearest + 1 : nearest;
  switch (rounding) {
    case Rounding::kNearestEven:
      return nearest;
    case Rounding::kNearestAway:
      return away;
    case Rounding::kZero:
      return below;
    case Rounding::kDown:
      return sign != 0 ? above : below;
    case Rounding::kUp:
      return sign != 0 ? below : above;
  }
  return nearest;
}

// Whether an overflow in this direction stops at the largest finite number.
RECTO_PTX_INLINE bool overflow_stays_finite(Rounding rounding, std::uint64_t sign) {
  const bool is_negative = sign != 0;
  return (rounding == Rounding::kZero) | ((rounding == Rounding::kDown) & !is_negative) |
         ((rounding == Rounding::kUp) & is_negative);
}

// x after .sat and .relu. Both commute with rounding, because 0 and 1 are numbers of every format.
RECTO_PTX_INLINE double limited(double x, const FloatMode& mode) {
  const double relu = x <= 0 ? 0 : x;
  const double saturated = x > 0 ? (x < 1 ? x : 1) : 0;
  return mode.saturate ? saturated : mode.relu ? relu : x;
}
RECTO_PTX_INLINE float limited(float x, const FloatMode& mode) {
  const float relu = x <= 0 ? 0 : x;
  const float saturated = x > 0 ? (x < 1 ? x : 1) : 0;
  return mode.saturate ? saturated : mode.relu ? relu : x;
}

// The code of x in a format that fits into 32 bits, rounded once. NaN becomes the canonical one.
template <FloatFormat kFormat>
RECTO_PTX_INLINE std::uint32_t narrowed(double exact, const FloatMode& mode) {
  const double x = limited(exact, mode);
  const std::uint64_t bits = bits_of(x);
  const std::uint64_t sign = bits & kSign64;
  const std::uint64_t magnitude = bits & ~kSign64;
  // Below the lowest exponent, numbers keep fewer bits. Beyond the largest, all are alike.
  constexpr auto kLowest = static_cast<std::uint64_t>(1023 + kFormat.exponent_min());
  constexpr std::uint64_t kBeyond = kLowest + (std::uint64_t{1} << kFormat.exponent_bits);
  const std::uint64_t field = magnitude >> 52;
  const std::uint64_t bounded = field < kBeyond ? field : kBeyond;
  const std::uint64_t exponent = bounded > kLowest ? bounded : kLowest;
  const double unit = double_of((exponent - kFormat.fraction_bits) << 52);
  const std::uint64_t units = rounded_units(double_of(magnitude), unit, mode.rounding, sign);
  // As if there were no largest exponent.
  const std::uint64_t unbounded = ((exponent - kLowest) << kFormat.fraction_bits) + units;
  const bool is_cut =
      mode.satfinite | (overflow_stays_finite(mode.rounding, sign) & (magnitude < kInfinity64));
  const std::uint64_t bound = kFormat.largest() + (is_cut ? 0 : 1);
  const bool is_over = (field >= kBeyond) | (unbounded > bound);
  const std::uint64_t code = is_over ? bound : unbounded;
  const auto number = static_cast<std::uint32_t>(code | (sign != 0 ? kFormat.sign() : 0));
  return magnitude > kInfinity64 ? kFormat.nan() : number;
}

// The same for fp32 numbers and rounding to nearest even, in half the width. The format must have a
// smaller exponent range than fp32, or its exponents.
template <FloatFormat kFormat>
RECTO_PTX_INLINE std::uint32_t narrowed_nearest(float exact, const FloatMode& mode) {
  const std::uint32_t bits = bits_of(limited(exact, mode));
  const std::uint32_t magnitude = bits & 0x7fffffff;
  constexpr int kSpare = 23 - kFormat.fraction_bits;
  // What is added to fp32's exponent; the carry of the fraction's rounding goes there too.
  constexpr auto kOffset = static_cast<std::uint32_t>(127 + kFormat.exponent_min() - 1) << 23;
  constexpr std::uint32_t kHalf = (std::uint32_t{1} << (kSpare - 1)) - 1;
  std::uint32_t code = (magnitude - kOffset + kHalf + ((magnitude >> kSpare) & 1)) >> kSpare;
  if constexpr (kFormat.exponent_bits < 8) {
    // A number whose last bit is that of the format's subnormals: adding it rounds.
    constexpr auto kMagic = static_cast<std::uint32_t>(kFormat.exponent_min() + 127 + kSpare) << 23;
    const std::uint32_t small = bits_of(float_of(magnitude) + float_of(kMagic)) - kMagic;
    code = magnitude < kOffset + 0x800000 ? small : code;
  }
  const std::uint32_t bound = kFormat.largest() + (mode.satfinite ? 0 : 1);
  code = code < bound ? code : bound;
  const std::uint32_t number = code | (bits >> 31 << (kFormat.bits() - 1));
  return magnitude > 0x7f800000 ? kFormat.nan() : number;
}

// The fp32 number with this code, which is exact. NaN becomes the canonical one, except that a
// bf16 is the upper half of an fp32 number, NaN included.
template <FloatFormat kFormat>
RECTO_PTX_INLINE float widened(std::uint32_t code) {
  if constexpr (kFormat.exponent_bits == 8) return float_of(code << (32 - kFormat.bits()));
  const std::uint32_t magnitude = code & (kFormat.sign() - 1);
  // The fp32 number with the same fields differs by the exponents' offset, subnormal or not.
  constexpr auto kScale = static_cast<std::uint32_t>(127 + 126 + kFormat.exponent_min()) << 23;
  const float finite = float_of(magnitude << (23 - kFormat.fraction_bits)) * float_of(kScale);
  const std::uint32_t unsigned_bits =
      kFormat.has_infinity && magnitude == kFormat.infinity() ? 0x7f800000 : bits_of(finite);
  const std::uint32_t sign = (code & kFormat.sign()) << (32 - kFormat.bits());
  return float_of(magnitude > kFormat.largest() + (kFormat.has_infinity ? 1 : 0)
                      ? kNan32
                      : unsigned_bits | sign);
}

// An fp64 number between fp32's precision and itself has its last bit set if `lost`, what rounding
// took from the exact result, is not zero (rounding to odd). Rounding that again to a format of at
// most 50 bits rounds the exact result (Boldo and Melquiond 2008, IEEE Trans. Computers 57(4)).
RECTO_PTX_INLINE double odd(double rounded, double lost) {
  const std::uint64_t bits = bits_of(rounded);
  const bool is_above = (lost < 0) != ((bits & kSign64) != 0);
  // The odd one of the two numbers around the exact result.
  const std::uint64_t neighbour = (is_above ? bits - 1 : bits) | 1;
  return double_of(((lost < 0) | (lost > 0)) ? neighbour : bits);
}

// x in fp32, which it does not exceed by more than fp64's range.
RECTO_PTX_INLINE float rounded_to_f32(double x, Rounding rounding) {
  const auto nearest = static_cast<float>(x);
  const std::uint32_t bits = bits_of(nearest);
  const bool is_negative = (bits >> 31) != 0;
  const bool steps_up =
      (nearest < x) & ((rounding == Rounding::kUp) | ((rounding == Rounding::kZero) & is_negative));
  const bool steps_down = (nearest > x) & ((rounding == Rounding::kDown) |
                                           ((rounding == Rounding::kZero) & !is_negative));
  // Magnitudes are ordered as their bits are.
  const std::uint32_t step = steps_up != is_negative ? 1 : ~std::uint32_t{0};
  return float_of((steps_up | steps_down) ? bits + step : bits);
}

// a + b for sums that do not overflow fp64. An exact zero from numbers of opposite signs is -0 when
// rounding down.
RECTO_PTX_INLINE double odd_sum(double a, double b, Rounding rounding) {
  const double sum = rounding == Rounding::kDown ? -(-a + -b) : a + b;
  // The exact rounding error (Knuth's two-sum).
  const double virtual_b = sum - a;
  return odd(sum, (a - (sum - virtual_b)) + (b - virtual_b));
}

}  // namespace recto::ptx
