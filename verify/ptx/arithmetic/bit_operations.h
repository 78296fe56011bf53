#pragma once

// Bits, shifts and bytes: PTX ISA, "Integer Arithmetic Instructions: popc" to "bmsk", "Logic and
// Shift Instructions" and "Data Movement and Conversion Instructions: prmt".

#include "verify/ptx/arithmetic/integer_arithmetic.h"

namespace recto::ptx {

// --- bits ----------------------------------------------------------------------------------------

template <typename T>
RECTO_PTX_INLINE std::uint32_t popc(T a) {
  return static_cast<std::uint32_t>(std::popcount(static_cast<Unsigned<T>>(a)));
}
template <typename T>
RECTO_PTX_INLINE std::uint32_t clz(T a) {
  return static_cast<std::uint32_t>(std::countl_zero(static_cast<Unsigned<T>>(a)));
}
template <typename T>
RECTO_PTX_INLINE T brev(T a) {
  T reversed = 0;
  for (unsigned i = 0; i < kBits<T>; ++i) reversed |= (a >> i & 1) << (kBits<T> - 1 - i);
  return reversed;
}
// 1 for 0, else 0.
template <typename T>
RECTO_PTX_INLINE T cnot(T a) {
  return a == 0 ? 1 : 0;
}

// The position of the highest bit that differs from the sign; all bits set if there is none.
template <typename T>
RECTO_PTX_INLINE std::uint32_t bfind(T a) {
  const T found = a < 0 ? static_cast<T>(~a) : a;
  return found == 0 ? ~std::uint32_t{0} : kBits<T> - 1 - clz(found);
}
template <typename T>
RECTO_PTX_INLINE std::uint32_t bfind_shift_amount(T a) {
  const std::uint32_t position = bfind(a);
  return position == ~std::uint32_t{0} ? position : kBits<T> - 1 - position;
}

// The lower `length` bits set.
template <typename T>
RECTO_PTX_INLINE Unsigned<T> low_bits(unsigned length) {
  const Unsigned<T> all = ~Unsigned<T>{0};
  return length >= kBits<T> ? all : static_cast<Unsigned<T>>(~(all << length));
}

template <typename T>
RECTO_PTX_INLINE T bfe(T a, std::uint32_t position, std::uint32_t length) {
  const unsigned begin = position & 0xff;
  const unsigned count = length & 0xff;
  const unsigned last = begin + count - 1 < kBits<T> - 1 ? begin + count - 1 : kBits<T> - 1;
  const auto bits = static_cast<Unsigned<T>>(a);
  const bool is_filled = std::is_signed_v<T> && count != 0 && (bits >> last & 1) != 0;
  // Bits beyond the highest one are copies of it, if it is the sign.
  const unsigned kept = begin < kBits<T> ? last - begin + 1 : 0;
  const Unsigned<T> mask = count == 0 ? 0 : low_bits<T>(kept);
  const Unsigned<T> shifted = bits >> (begin < kBits<T> ? begin : kBits<T> - 1);
  return static_cast<T>((shifted & mask) | (is_filled ? static_cast<Unsigned<T>>(~mask) : 0));
}

template <typename T>
RECTO_PTX_INLINE T bfi(T a, T b, std::uint32_t position, std::uint32_t length) {
  const unsigned begin = position & 0xff;
  const unsigned shift = begin < kBits<T> ? begin : 0;
  const T mask = begin < kBits<T> ? low_bits<T>(length & 0xff) << shift : T{0};
  return (b & ~mask) | (a << shift & mask);
}

enum class Overshoot : std::uint8_t { kClamp, kWrap };

RECTO_PTX_INLINE std::uint32_t bmsk(std::uint32_t position, std::uint32_t length, Overshoot mode) {
  const bool is_clamped = mode == Overshoot::kClamp;
  if (is_clamped && position >= 32) return 0;
  const std::uint32_t count = is_clamped ? length : length & 31;
  return low_bits<std::uint32_t>(count) << (position & 31);
}

// T is std::int32_t or std::uint32_t: the lower `width` bits of a, extended.
template <typename T>
RECTO_PTX_INLINE T szext(T a, std::uint32_t width, Overshoot mode) {
  if (mode == Overshoot::kClamp && width >= 32) return a;
  const std::uint32_t count = width & 31;
  const std::uint32_t shift = (32 - count) & 31;
  return count == 0
             ? T{0}
             : static_cast<T>(static_cast<T>(static_cast<std::uint32_t>(a) << shift) >> shift);
}

// The position of the n-th set bit from `base`, upwards or downwards; all bits set if there is
// none.
RECTO_PTX_INLINE std::uint32_t fns(std::uint32_t mask, std::uint32_t base, std::int32_t n) {
  const std::int32_t step = n < 0 ? -1 : 1;
  std::uint32_t left = n == 0 ? 1 : static_cast<std::uint32_t>(abs_integer(n));
  for (auto i = static_cast<std::int32_t>(base); i >= 0 && i < 32; i += step) {
    left -= mask >> i & 1;
    if (left == 0) return static_cast<std::uint32_t>(i);
    if (n == 0) break;
  }
  return ~std::uint32_t{0};
}

// --- shifts and logic ----------------------------------------------------------------------------

// Amounts beyond the width shift everything out.
template <typename T>
RECTO_PTX_INLINE T shl(T a, std::uint32_t amount) {
  const auto shifted = static_cast<Unsigned<T>>(a) << (amount < kBits<T> ? amount : 0);
  return amount < kBits<T> ? static_cast<T>(shifted) : T{0};
}
template <typename T>
RECTO_PTX_INLINE T shr(T a, std::uint32_t amount) {
  if (std::is_signed_v<T>) return static_cast<T>(a >> (amount < kBits<T> ? amount : kBits<T> - 1));
  return amount < kBits<T> ? static_cast<T>(a >> amount) : T{0};
}

// Funnel shifts of b:a.
RECTO_PTX_INLINE std::uint32_t shift_within(std::uint32_t amount, Overshoot mode) {
  return mode == Overshoot::kWrap ? amount & 31 : amount < 32 ? amount : 32;
}
RECTO_PTX_INLINE std::uint32_t shf_left(std::uint32_t a, std::uint32_t b, std::uint32_t amount,
                                        Overshoot mode) {
  const std::uint64_t both = std::uint64_t{b} << 32 | a;
  return static_cast<std::uint32_t>(both << shift_within(amount, mode) >> 32);
}
RECTO_PTX_INLINE std::uint32_t shf_right(std::uint32_t a, std::uint32_t b, std::uint32_t amount,
                                         Overshoot mode) {
  const std::uint64_t both = std::uint64_t{b} << 32 | a;
  return static_cast<std::uint32_t>(both >> shift_within(amount, mode));
}

// Bit 4 a + 2 b + c of the table, for every bit of the operands.
template <typename T>
RECTO_PTX_INLINE T lop3(T a, T b, T c, std::uint32_t table) {
  T result = 0;
  for (unsigned i = 0; i < 8; ++i) {
    const T all = (table >> i & 1) != 0 ? static_cast<T>(~T{0}) : T{0};
    result |= all & ((i & 4) != 0 ? a : ~a) & ((i & 2) != 0 ? b : ~b) & ((i & 1) != 0 ? c : ~c);
  }
  return result;
}

enum class Permutation : std::uint8_t { kIndex, kF4e, kB4e, kRc8, kEcl, kEcr, kRc16 };

// Which of the eight bytes of b:a become the result's, by 4-bit selectors whose highest bit copies
// the byte's sign.
RECTO_PTX_INLINE std::uint32_t prmt_selectors(std::uint32_t c, Permutation mode) {
  constexpr std::uint32_t kTables[][4] = {
      {0x3210, 0x4321, 0x5432, 0x6543}, {0x5670, 0x6701, 0x7012, 0x0123},
      {0x0000, 0x1111, 0x2222, 0x3333}, {0x3210, 0x3211, 0x3222, 0x3333},
      {0x0000, 0x1110, 0x2210, 0x3210}, {0x1010, 0x3232, 0x1010, 0x3232},
  };
  return mode == Permutation::kIndex ? c : kTables[static_cast<unsigned>(mode) - 1][c & 3];
}

RECTO_PTX_INLINE std::uint32_t prmt(std::uint32_t a, std::uint32_t b, std::uint32_t selectors) {
  const std::uint64_t both = std::uint64_t{b} << 32 | a;
  std::uint32_t result = 0;
  for (unsigned i = 0; i < 4; ++i) {
    const std::uint32_t selector = selectors >> 4 * i;
    const auto byte = static_cast<std::uint32_t>(both >> 8 * (selector & 7)) & 0xff;
    const std::uint32_t sign = (byte & 0x80) != 0 ? 0xff : 0;
    result |= ((selector & 8) != 0 ? sign : byte) << 8 * i;
  }
  return result;
}

}  // namespace recto::ptx
