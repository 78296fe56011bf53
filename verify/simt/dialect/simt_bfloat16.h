#pragma once

// __nv_bfloat16 and __nv_bfloat162 as in <cuda_bf16.h>: storage, and conversions. Arithmetic is in
// simt_half_arithmetic.h. They are trivial types, so that shared memory may hold them.

#include <bit>
#include <concepts>

#include "verify/simt/dialect/simt_narrow.h"
#include "verify/simt/dialect/simt_types.h"

struct alignas(2) __nv_bfloat16_raw {
  unsigned short x;
};

struct alignas(4) __nv_bfloat162_raw {
  unsigned short x, y;
};

struct alignas(2) __nv_bfloat16 {
  __nv_bfloat16() = default;
  __nv_bfloat16(const __nv_bfloat16_raw& raw) : __x(raw.x) {}
  __nv_bfloat16(float value)
      : __x(recto::simt::device::narrowed<recto::simt::device::kBfloat16>(value)) {}
  __nv_bfloat16(double value)
      : __x(recto::simt::device::narrowed<recto::simt::device::kBfloat16>(value)) {}
  template <std::integral T>
  __nv_bfloat16(T value) : __nv_bfloat16(static_cast<double>(value)) {}

  // The upper half of an fp32 number, NaNs included.
  operator float() const { return std::bit_cast<float>(static_cast<unsigned>(__x) << 16); }
  operator __nv_bfloat16_raw() const { return {__x}; }

  unsigned short __x;
};

struct alignas(4) __nv_bfloat162 {
  __nv_bfloat162() = default;
  __nv_bfloat162(const __nv_bfloat16& low, const __nv_bfloat16& high) : x(low), y(high) {}
  __nv_bfloat162(const __nv_bfloat162_raw& raw)
      : x(__nv_bfloat16_raw{raw.x}), y(__nv_bfloat16_raw{raw.y}) {}
  operator __nv_bfloat162_raw() const { return {__nv_bfloat16_raw(x).x, __nv_bfloat16_raw(y).x}; }

  __nv_bfloat16 x, y;
};

using nv_bfloat16 = __nv_bfloat16;
using nv_bfloat162 = __nv_bfloat162;

inline unsigned short __bfloat16_as_ushort(__nv_bfloat16 value) {
  return __nv_bfloat16_raw(value).x;
}
inline short __bfloat16_as_short(__nv_bfloat16 value) {
  return static_cast<short>(__nv_bfloat16_raw(value).x);
}
inline __nv_bfloat16 __ushort_as_bfloat16(unsigned short code) { return __nv_bfloat16_raw{code}; }
inline __nv_bfloat16 __short_as_bfloat16(short code) {
  return __nv_bfloat16_raw{static_cast<unsigned short>(code)};
}

#define RECTO_SIMT_FLOAT_TO_BFLOAT16(name, type, rounding)                                   \
  inline __nv_bfloat16 name(type value) {                                                    \
    using ::recto::simt::device::Rounding;                                                   \
    return __nv_bfloat16_raw{                                                                \
        ::recto::simt::device::narrowed<::recto::simt::device::kBfloat16, rounding>(value)}; \
  }
RECTO_SIMT_FLOAT_TO_BFLOAT16(__float2bfloat16, float, Rounding::kNearestEven)
RECTO_SIMT_FLOAT_TO_BFLOAT16(__float2bfloat16_rn, float, Rounding::kNearestEven)
RECTO_SIMT_FLOAT_TO_BFLOAT16(__float2bfloat16_rz, float, Rounding::kTowardsZero)
RECTO_SIMT_FLOAT_TO_BFLOAT16(__float2bfloat16_ru, float, Rounding::kUp)
RECTO_SIMT_FLOAT_TO_BFLOAT16(__float2bfloat16_rd, float, Rounding::kDown)
RECTO_SIMT_FLOAT_TO_BFLOAT16(__double2bfloat16, double, Rounding::kNearestEven)
RECTO_SIMT_FLOAT_TO_BFLOAT16(__int2bfloat16_rn, int, Rounding::kNearestEven)
RECTO_SIMT_FLOAT_TO_BFLOAT16(__uint2bfloat16_rn, unsigned, Rounding::kNearestEven)
#undef RECTO_SIMT_FLOAT_TO_BFLOAT16

inline float __bfloat162float(__nv_bfloat16 value) { return value; }

inline __nv_bfloat162 __floats2bfloat162_rn(float low, float high) { return {low, high}; }
inline __nv_bfloat162 __float22bfloat162_rn(float2 value) { return {value.x, value.y}; }
inline __nv_bfloat162 __float2bfloat162_rn(float value) { return {value, value}; }
inline float2 __bfloat1622float2(__nv_bfloat162 value) { return {value.x, value.y}; }

inline __nv_bfloat162 make_bfloat162(__nv_bfloat16 low, __nv_bfloat16 high) { return {low, high}; }
inline __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 low, __nv_bfloat16 high) {
  return {low, high};
}
inline __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 value) { return {value, value}; }
inline __nv_bfloat16 __low2bfloat16(__nv_bfloat162 value) { return value.x; }
inline __nv_bfloat16 __high2bfloat16(__nv_bfloat162 value) { return value.y; }
inline __nv_bfloat162 __low2bfloat162(__nv_bfloat162 value) { return {value.x, value.x}; }
inline __nv_bfloat162 __high2bfloat162(__nv_bfloat162 value) { return {value.y, value.y}; }
inline __nv_bfloat162 __lows2bfloat162(__nv_bfloat162 low, __nv_bfloat162 high) {
  return {low.x, high.x};
}
inline __nv_bfloat162 __highs2bfloat162(__nv_bfloat162 low, __nv_bfloat162 high) {
  return {low.y, high.y};
}
