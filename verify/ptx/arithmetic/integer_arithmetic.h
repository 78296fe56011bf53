#pragma once

// Integer arithmetic: PTX ISA, "Integer Arithmetic Instructions" and "Extended-Precision Integer
// Arithmetic Instructions". Additions, subtractions and lower products wrap.

#include <limits>
#include <type_traits>

#include "verify/ptx/arithmetic/rounding.h"

namespace recto::ptx {

template <typename T>
using Unsigned = std::make_unsigned_t<T>;
template <typename T>
inline constexpr unsigned kBits = 8 * sizeof(T);

// An integer of twice the width, with the same sign.
template <typename T>
struct WiderOf;
template <>
struct WiderOf<std::int16_t> {
  using Type = std::int32_t;
};
template <>
struct WiderOf<std::uint16_t> {
  using Type = std::uint32_t;
};
template <>
struct WiderOf<std::int32_t> {
  using Type = std::int64_t;
};
template <>
struct WiderOf<std::uint32_t> {
  using Type = std::uint64_t;
};
template <>
struct WiderOf<std::int64_t> {
  using Type = __int128;
};
template <>
struct WiderOf<std::uint64_t> {
  using Type = unsigned __int128;
};
template <typename T>
using Wider = typename WiderOf<T>::Type;

// --- products and sums ---------------------------------------------------------------------------

template <typename T>
RECTO_PTX_INLINE Wider<T> mul_wide(T a, T b) {
  return static_cast<Wider<T>>(a) * static_cast<Wider<T>>(b);
}
template <typename T>
RECTO_PTX_INLINE T mul_hi(T a, T b) {
  return static_cast<T>(mul_wide(a, b) >> kBits<T>);
}
template <typename T>
RECTO_PTX_INLINE T mul_lo(T a, T b) {
  // Promoted, so that the product of two 16-bit numbers does not overflow int.
  return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

// T is std::int32_t or std::uint32_t; the upper 8 bits are ignored.
template <typename T>
RECTO_PTX_INLINE std::int64_t mul24(T a, T b) {
  const auto low = [](T x) { return static_cast<std::int64_t>(static_cast<T>(x << 8) >> 8); };
  return low(a) * low(b);
}
template <typename T>
RECTO_PTX_INLINE T mul24_lo(T a, T b) {
  return static_cast<T>(mul24(a, b));
}
template <typename T>
RECTO_PTX_INLINE T mul24_hi(T a, T b) {
  return static_cast<T>(mul24(a, b) >> 16);
}

// .sat of add, sub, mad.hi and mad24.hi, on wide sums.
RECTO_PTX_INLINE std::int32_t clamped_s32(std::int64_t x) {
  using Limits = std::numeric_limits<std::int32_t>;
  return x > Limits::max()   ? Limits::max()
         : x < Limits::min() ? Limits::min()
                             : static_cast<std::int32_t>(x);
}

// A sum of unsigned numbers and a carry, or a difference and a borrow. madc adds mul_lo or mul_hi.
template <typename T>
struct WithCarry {
  T value;
  std::uint32_t carry;
};
template <typename T>
RECTO_PTX_INLINE WithCarry<T> add_carry(T a, T b, std::uint32_t carry) {
  const T sum = a + b;
  const T value = sum + carry;
  return {value, static_cast<std::uint32_t>((sum < a) | (value < sum))};
}
template <typename T>
RECTO_PTX_INLINE WithCarry<T> sub_borrow(T a, T b, std::uint32_t borrow) {
  const T difference = a - b;
  return {static_cast<T>(difference - borrow),
          static_cast<std::uint32_t>((a < b) | (difference < borrow))};
}

// c + |a - b|
template <typename T>
RECTO_PTX_INLINE T sad(T a, T b, T c) {
  const auto x = static_cast<Unsigned<T>>(a);
  const auto y = static_cast<Unsigned<T>>(b);
  return static_cast<T>(static_cast<Unsigned<T>>(c) + (a < b ? y - x : x - y));
}

// The ISA leaves division by zero open: as ptxas folds it, quotient and remainder have all bits
// set. The quotient of the lowest number and -1 wraps.
template <typename T>
RECTO_PTX_INLINE T div(T a, T b) {
  if (b == 0) return static_cast<T>(~Unsigned<T>{0});
  if (std::is_signed_v<T> && b == static_cast<T>(-1)) {
    return static_cast<T>(Unsigned<T>{0} - static_cast<Unsigned<T>>(a));
  }
  return static_cast<T>(a / b);
}
template <typename T>
RECTO_PTX_INLINE T rem(T a, T b) {
  if (b == 0) return static_cast<T>(~Unsigned<T>{0});
  return std::is_signed_v<T> && b == static_cast<T>(-1) ? T{0} : static_cast<T>(a % b);
}

// The magnitude of the lowest number is itself.
template <typename T>
RECTO_PTX_INLINE T abs_integer(T a) {
  return a < 0 ? static_cast<T>(Unsigned<T>{0} - static_cast<Unsigned<T>>(a)) : a;
}

// --- dot products --------------------------------------------------------------------------------

enum class Sign : std::uint8_t { kUnsigned, kSigned };

// The field of `bits` bits at `offset`, extended to 32 bits.
RECTO_PTX_INLINE std::uint32_t field(std::uint32_t word, int offset, int bits, Sign sign) {
  const std::uint32_t top = word << (32 - bits - offset);
  const auto extended = static_cast<std::uint32_t>(static_cast<std::int32_t>(top) >> (32 - bits));
  return sign == Sign::kSigned ? extended : top >> (32 - bits);
}

struct DotSigns {
  Sign a = Sign::kUnsigned;
  Sign b = Sign::kUnsigned;
};

RECTO_PTX_INLINE std::uint32_t dp4a(std::uint32_t a, std::uint32_t b, std::uint32_t c,
                                    DotSigns signs) {
  for (int i = 0; i < 32; i += 8) c += field(a, i, 8, signs.a) * field(b, i, 8, signs.b);
  return c;
}

enum class Half : std::uint8_t { kLower, kUpper };

// Two 16-bit elements of a, and two 8-bit elements of a half of b.
RECTO_PTX_INLINE std::uint32_t dp2a(std::uint32_t a, std::uint32_t b, std::uint32_t c,
                                    DotSigns signs, Half half) {
  const int first = half == Half::kUpper ? 16 : 0;
  return c + field(a, 0, 16, signs.a) * field(b, first, 8, signs.b) +
         field(a, 16, 16, signs.a) * field(b, first + 8, 8, signs.b);
}

}  // namespace recto::ptx
