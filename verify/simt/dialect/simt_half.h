#pragma once

// __half and __half2 as in <cuda_fp16.h>, __nv_bfloat16 and __nv_bfloat162 as in <cuda_bf16.h>:
// storage, and conversions. Arithmetic is in simt_half_arithmetic.h. They are trivial types, so
// that shared memory may hold them.

#include <concepts>

#include "verify/simt/dialect/simt_half_traits.h"
#include "verify/simt/dialect/simt_types.h"

#define RECTO_SIMT_HALF_TYPES(half, pair, format)                                           \
  struct alignas(2) half##_raw {                                                            \
    unsigned short x;                                                                       \
  };                                                                                        \
  struct alignas(4) pair##_raw {                                                            \
    unsigned short x, y;                                                                    \
  };                                                                                        \
  struct alignas(2) half {                                                                  \
    half() = default;                                                                       \
    half(const half##_raw& raw) : __x(raw.x) {}                                             \
    half(float value) : __x(recto::simt::device::narrowed<format>(value)) {}                \
    half(double value) : __x(recto::simt::device::narrowed<format>(value)) {}               \
    template <std::integral T>                                                              \
    half(T value) : half(static_cast<double>(value)) {}                                     \
                                                                                            \
    operator float() const { return recto::simt::device::converted<format>(__x); }          \
    operator half##_raw() const { return {__x}; }                                           \
                                                                                            \
    unsigned short __x;                                                                     \
  };                                                                                        \
  struct alignas(4) pair {                                                                  \
    pair() = default;                                                                       \
    pair(const half& low, const half& high) : x(low), y(high) {}                            \
    pair(const pair##_raw& raw) : x(half##_raw{raw.x}), y(half##_raw{raw.y}) {}             \
    operator pair##_raw() const { return {half##_raw(x).x, half##_raw(y).x}; }              \
                                                                                            \
    half x, y;                                                                              \
  };                                                                                        \
  template <>                                                                               \
  inline constexpr recto::simt::device::NarrowFormat recto::simt::device::kFormatOf<half> = \
      format;

RECTO_SIMT_HALF_TYPES(__half, __half2, recto::simt::device::kHalf)
RECTO_SIMT_HALF_TYPES(__nv_bfloat16, __nv_bfloat162, recto::simt::device::kBfloat16)
#undef RECTO_SIMT_HALF_TYPES

using half = __half;
using half2 = __half2;
using nv_half = __half;
using nv_half2 = __half2;
using nv_bfloat16 = __nv_bfloat16;
using nv_bfloat162 = __nv_bfloat162;

#define RECTO_SIMT_TO_HALF(name, half, type, rounding)                                           \
  inline half name(type value) {                                                                 \
    using recto::simt::device::Rounding;                                                         \
    return half##_raw{                                                                           \
        recto::simt::device::narrowed<recto::simt::device::kFormatOf<half>, Rounding::rounding>( \
            value)};                                                                             \
  }

// The conversions of both types; `name` is the type's part of NVIDIA's function names.
#define RECTO_SIMT_HALF_CONVERSIONS(half, pair, name)                                              \
  RECTO_SIMT_TO_HALF(__float2##name, half, float, kNearestEven)                                    \
  RECTO_SIMT_TO_HALF(__float2##name##_rn, half, float, kNearestEven)                               \
  RECTO_SIMT_TO_HALF(__float2##name##_rz, half, float, kTowardsZero)                               \
  RECTO_SIMT_TO_HALF(__float2##name##_ru, half, float, kUp)                                        \
  RECTO_SIMT_TO_HALF(__float2##name##_rd, half, float, kDown)                                      \
  RECTO_SIMT_TO_HALF(__double2##name, half, double, kNearestEven)                                  \
  RECTO_SIMT_TO_HALF(__int2##name##_rn, half, int, kNearestEven)                                   \
  RECTO_SIMT_TO_HALF(__uint2##name##_rn, half, unsigned, kNearestEven)                             \
  inline float __##name##2float(half value) { return value; }                                      \
                                                                                                   \
  inline unsigned short __##name##_as_ushort(half value) { return half##_raw(value).x; }           \
  inline short __##name##_as_short(half value) { return static_cast<short>(half##_raw(value).x); } \
  inline half __ushort_as_##name(unsigned short code) { return half##_raw{code}; }                 \
  inline half __short_as_##name(short code) {                                                      \
    return half##_raw{static_cast<unsigned short>(code)};                                          \
  }                                                                                                \
                                                                                                   \
  inline pair __floats2##name##2_rn(float low, float high) { return {low, high}; }                 \
  inline pair __float22##name##2_rn(float2 value) { return {value.x, value.y}; }                   \
  inline pair __float2##name##2_rn(float value) { return {value, value}; }                         \
  inline float2 __##name##22float2(pair value) { return {value.x, value.y}; }                      \
                                                                                                   \
  inline pair make_##name##2(half low, half high) { return {low, high}; }                          \
  inline pair __halves2##name##2(half low, half high) { return {low, high}; }                      \
  inline pair __##name##2##name##2(half value) { return {value, value}; }                          \
  inline half __low2##name(pair value) { return value.x; }                                         \
  inline half __high2##name(pair value) { return value.y; }                                        \
  inline pair __low2##name##2(pair value) { return {value.x, value.x}; }                           \
  inline pair __high2##name##2(pair value) { return {value.y, value.y}; }                          \
  inline pair __lows2##name##2(pair low, pair high) { return {low.x, high.x}; }                    \
  inline pair __highs2##name##2(pair low, pair high) { return {low.y, high.y}; }

RECTO_SIMT_HALF_CONVERSIONS(__half, __half2, half)
RECTO_SIMT_HALF_CONVERSIONS(__nv_bfloat16, __nv_bfloat162, bfloat16)
#undef RECTO_SIMT_HALF_CONVERSIONS
#undef RECTO_SIMT_TO_HALF
