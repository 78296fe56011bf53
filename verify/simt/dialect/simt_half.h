#pragma once

// __half and __half2 as in <cuda_fp16.h>: storage, and conversions. Arithmetic is in
// simt_half_arithmetic.h. They are trivial types, so that shared memory may hold them.

#include <bit>
#include <concepts>

#include "verify/simt/dialect/simt_narrow.h"
#include "verify/simt/dialect/simt_types.h"

struct alignas(2) __half_raw {
  unsigned short x;
};

struct alignas(4) __half2_raw {
  unsigned short x, y;
};

struct alignas(2) __half {
  __half() = default;
  __half(const __half_raw& raw) : __x(raw.x) {}
  __half(float value) : __x(recto::simt::device::narrowed<recto::simt::device::kHalf>(value)) {}
  __half(double value) : __x(recto::simt::device::narrowed<recto::simt::device::kHalf>(value)) {}
  template <std::integral T>
  __half(T value) : __half(static_cast<double>(value)) {}

  operator float() const { return recto::simt::device::widened<recto::simt::device::kHalf>(__x); }
  operator __half_raw() const { return {__x}; }

  unsigned short __x;
};

struct alignas(4) __half2 {
  __half2() = default;
  __half2(const __half& low, const __half& high) : x(low), y(high) {}
  __half2(const __half2_raw& raw) : x(__half_raw{raw.x}), y(__half_raw{raw.y}) {}
  operator __half2_raw() const { return {__half_raw(x).x, __half_raw(y).x}; }

  __half x, y;
};

using half = __half;
using half2 = __half2;
using nv_half = __half;
using nv_half2 = __half2;

inline unsigned short __half_as_ushort(__half value) { return __half_raw(value).x; }
inline short __half_as_short(__half value) { return static_cast<short>(__half_raw(value).x); }
inline __half __ushort_as_half(unsigned short code) { return __half_raw{code}; }
inline __half __short_as_half(short code) { return __half_raw{static_cast<unsigned short>(code)}; }

#define RECTO_SIMT_FLOAT_TO_HALF(name, type, rounding)                                   \
  inline __half name(type value) {                                                       \
    using ::recto::simt::device::Rounding;                                               \
    return __half_raw{                                                                   \
        ::recto::simt::device::narrowed<::recto::simt::device::kHalf, rounding>(value)}; \
  }
RECTO_SIMT_FLOAT_TO_HALF(__float2half, float, Rounding::kNearestEven)
RECTO_SIMT_FLOAT_TO_HALF(__float2half_rn, float, Rounding::kNearestEven)
RECTO_SIMT_FLOAT_TO_HALF(__float2half_rz, float, Rounding::kTowardsZero)
RECTO_SIMT_FLOAT_TO_HALF(__float2half_ru, float, Rounding::kUp)
RECTO_SIMT_FLOAT_TO_HALF(__float2half_rd, float, Rounding::kDown)
RECTO_SIMT_FLOAT_TO_HALF(__double2half, double, Rounding::kNearestEven)
RECTO_SIMT_FLOAT_TO_HALF(__int2half_rn, int, Rounding::kNearestEven)
RECTO_SIMT_FLOAT_TO_HALF(__uint2half_rn, unsigned, Rounding::kNearestEven)
#undef RECTO_SIMT_FLOAT_TO_HALF

inline float __half2float(__half value) { return value; }

inline __half2 __floats2half2_rn(float low, float high) { return {low, high}; }
inline __half2 __float22half2_rn(float2 value) { return {value.x, value.y}; }
inline __half2 __float2half2_rn(float value) { return {value, value}; }
inline float2 __half22float2(__half2 value) { return {value.x, value.y}; }

inline __half2 make_half2(__half low, __half high) { return {low, high}; }
inline __half2 __halves2half2(__half low, __half high) { return {low, high}; }
inline __half2 __half2half2(__half value) { return {value, value}; }
inline __half __low2half(__half2 value) { return value.x; }
inline __half __high2half(__half2 value) { return value.y; }
inline __half2 __low2half2(__half2 value) { return {value.x, value.x}; }
inline __half2 __high2half2(__half2 value) { return {value.y, value.y}; }
inline __half2 __lows2half2(__half2 low, __half2 high) { return {low.x, high.x}; }
inline __half2 __highs2half2(__half2 low, __half2 high) { return {low.y, high.y}; }
