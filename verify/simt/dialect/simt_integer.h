#pragma once

// CUDA's integer intrinsics, casts between bits and numbers, and conversions that state their
// rounding.

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "verify/simt/dialect/simt_taint.h"

inline int __clz(int x) { return std::countl_zero(static_cast<unsigned>(x)); }
inline int __clzll(long long x) { return std::countl_zero(static_cast<unsigned long long>(x)); }
inline int __popc(unsigned x) { return std::popcount(x); }
inline int __popcll(unsigned long long x) { return std::popcount(x); }
// The lowest bit that is set, counted from 1; 0 if there is none.
inline int __ffs(int x) { return x == 0 ? 0 : std::countr_zero(static_cast<unsigned>(x)) + 1; }
inline int __ffsll(long long x) {
  return x == 0 ? 0 : std::countr_zero(static_cast<unsigned long long>(x)) + 1;
}

inline unsigned __brev(unsigned x) {
  x = (x & 0x55555555) << 1 | (x >> 1 & 0x55555555);
  x = (x & 0x33333333) << 2 | (x >> 2 & 0x33333333);
  x = (x & 0x0f0f0f0f) << 4 | (x >> 4 & 0x0f0f0f0f);
  return __builtin_bswap32(x);
}
inline unsigned long long __brevll(unsigned long long x) {
  const unsigned long long low = __brev(static_cast<unsigned>(x));
  return low << 32 | __brev(static_cast<unsigned>(x >> 32));
}

// Four of the eight bytes of y:x, selected by the lowest three bits of each hexadecimal digit of
// the selector.
inline unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
  const std::uint64_t bytes = std::uint64_t{y} << 32 | x;
  unsigned result = 0;
  for (unsigned i = 0; i < 4; ++i) {
    const unsigned which = selector >> 4 * i & 7;
    result |= static_cast<unsigned>(bytes >> 8 * which & 0xff) << 8 * i;
  }
  return result;
}

inline int __mulhi(int x, int y) {
  return static_cast<int>(std::int64_t{x} * std::int64_t{y} >> 32);
}
inline unsigned __umulhi(unsigned x, unsigned y) {
  return static_cast<unsigned>(std::uint64_t{x} * std::uint64_t{y} >> 32);
}
inline long long __mul64hi(long long x, long long y) {
  return static_cast<long long>(static_cast<__int128>(x) * y >> 64);
}
inline unsigned long long __umul64hi(unsigned long long x, unsigned long long y) {
  return static_cast<unsigned long long>(static_cast<unsigned __int128>(x) * y >> 64);
}
// The lower 32 bits of the product of the lower 24 bits.
inline unsigned __umul24(unsigned x, unsigned y) { return (x & 0xffffff) * (y & 0xffffff); }
inline int __mul24(int x, int y) {
  const auto extended = [](int value) { return static_cast<unsigned>(value) << 8; };
  const std::int64_t product = std::int64_t{static_cast<int>(extended(x)) >> 8} *
                               std::int64_t{static_cast<int>(extended(y)) >> 8};
  return static_cast<int>(static_cast<unsigned>(product));
}

// high:low, shifted by at most 32 with c (clamped), else by `shift` modulo 32.
inline unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned shift) {
  const std::uint64_t shifted = (std::uint64_t{high} << 32 | low) << (shift < 32 ? shift : 32);
  return static_cast<unsigned>(shifted >> 32);
}
inline unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>((std::uint64_t{high} << 32 | low) >> (shift < 32 ? shift : 32));
}
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  return __funnelshift_lc(low, high, shift & 31);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  return __funnelshift_rc(low, high, shift & 31);
}

// The average, rounded down; with r, rounded up.
inline int __hadd(int x, int y) { return static_cast<int>((std::int64_t{x} + y) >> 1); }
inline int __rhadd(int x, int y) { return static_cast<int>((std::int64_t{x} + y + 1) >> 1); }
inline unsigned __uhadd(unsigned x, unsigned y) {
  return static_cast<unsigned>((std::uint64_t{x} + y) >> 1);
}
inline unsigned __urhadd(unsigned x, unsigned y) {
  return static_cast<unsigned>((std::uint64_t{x} + y + 1) >> 1);
}

// |x - y| + z, modulo 2^32.
inline unsigned __sad(int x, int y, unsigned z) {
  const std::int64_t difference = std::int64_t{x} - y;
  return static_cast<unsigned>(difference < 0 ? -difference : difference) + z;
}
inline unsigned __usad(unsigned x, unsigned y, unsigned z) { return (x < y ? y - x : x - y) + z; }

inline unsigned __float_as_uint(float x) { return std::bit_cast<unsigned>(x); }
inline int __float_as_int(float x) { return std::bit_cast<int>(x); }
inline float __uint_as_float(unsigned x) { return std::bit_cast<float>(x); }
inline float __int_as_float(int x) { return std::bit_cast<float>(x); }
inline long long __double_as_longlong(double x) { return std::bit_cast<long long>(x); }
inline double __longlong_as_double(long long x) { return std::bit_cast<double>(x); }

namespace recto::simt::device {

// Saturates; NaN becomes 0 or, in 64 bits, the highest bit alone (PTX ISA, cvt). `whole` is an
// integer or not finite.
template <typename Integer>
Integer saturated_known(double whole) {
  constexpr auto kMin = std::numeric_limits<Integer>::min();
  constexpr auto kMax = std::numeric_limits<Integer>::max();
  if (whole != whole) {
    return sizeof(Integer) == 8 ? static_cast<Integer>(std::uint64_t{1} << 63) : Integer{0};
  }
  if (whole <= static_cast<double>(kMin)) return kMin;
  if (whole >= static_cast<double>(kMax)) return kMax;
  return static_cast<Integer>(whole);
}

// The conversion branches on the value, so taint is removed first.
template <typename Integer>
Integer saturated_integer(double whole) {
  return with_taint_of(saturated_known<Integer>(without_taint(whole)), whole);
}

}  // namespace recto::simt::device

#define RECTO_SIMT_TO_INTEGER(from, type, name)                                \
  inline type __##from##2##name##_rn(from x) {                                 \
    return ::recto::simt::device::saturated_integer<type>(__builtin_rint(x));  \
  }                                                                            \
  inline type __##from##2##name##_rz(from x) {                                 \
    return ::recto::simt::device::saturated_integer<type>(__builtin_trunc(x)); \
  }                                                                            \
  inline type __##from##2##name##_ru(from x) {                                 \
    return ::recto::simt::device::saturated_integer<type>(__builtin_ceil(x));  \
  }                                                                            \
  inline type __##from##2##name##_rd(from x) {                                 \
    return ::recto::simt::device::saturated_integer<type>(__builtin_floor(x)); \
  }
RECTO_SIMT_TO_INTEGER(float, int, int)
RECTO_SIMT_TO_INTEGER(float, unsigned, uint)
RECTO_SIMT_TO_INTEGER(float, long long, ll)
RECTO_SIMT_TO_INTEGER(float, unsigned long long, ull)
RECTO_SIMT_TO_INTEGER(double, int, int)
RECTO_SIMT_TO_INTEGER(double, unsigned, uint)
RECTO_SIMT_TO_INTEGER(double, long long, ll)
RECTO_SIMT_TO_INTEGER(double, unsigned long long, ull)
#undef RECTO_SIMT_TO_INTEGER

inline float __int2float_rn(int x) { return static_cast<float>(x); }
inline float __uint2float_rn(unsigned x) { return static_cast<float>(x); }
inline float __ll2float_rn(long long x) { return static_cast<float>(x); }
inline float __ull2float_rn(unsigned long long x) { return static_cast<float>(x); }
inline float __double2float_rn(double x) { return static_cast<float>(x); }

namespace recto::simt::device {

template <typename A, typename B>
concept Integers = std::is_integral_v<A> && std::is_integral_v<B>;

}  // namespace recto::simt::device

// For two integers, the result has the type of their sum in C++ (int and unsigned: unsigned), as in
// CUDA.
template <typename A, typename B>
requires recto::simt::device::Integers<A, B>
auto max(A a, B b) {
  using T = decltype(a + b);
  return static_cast<T>(a) > static_cast<T>(b) ? static_cast<T>(a) : static_cast<T>(b);
}
template <typename A, typename B>
requires recto::simt::device::Integers<A, B>
auto min(A a, B b) {
  using T = decltype(a + b);
  return static_cast<T>(a) < static_cast<T>(b) ? static_cast<T>(a) : static_cast<T>(b);
}
