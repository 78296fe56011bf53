#pragma once

// fp8 as in <cuda_fp8.h>: storage, and conversions to and from the wider formats. e4m3 has no
// infinities and a single magnitude for NaN. They are trivial types.

#include <cstdint>

#include "verify/simt/dialect/simt_half.h"
#include "verify/simt/dialect/simt_narrow.h"
#include "verify/simt/dialect/simt_types.h"

using __nv_fp8_storage_t = unsigned char;
using __nv_fp8x2_storage_t = unsigned short;
using __nv_fp8x4_storage_t = unsigned;

enum __nv_saturation_t { __NV_NOSAT, __NV_SATFINITE };
enum __nv_fp8_interpretation_t { __NV_E4M3, __NV_E5M2 };

namespace recto::simt::device {

// Overflow gives the largest number if it saturates, else infinity or, in e4m3, NaN.
template <NarrowFormat kFormat>
constexpr std::uint8_t fp8_of(double x, __nv_saturation_t saturation, std::uint32_t largest) {
  const auto bits = std::bit_cast<std::uint64_t>(x);
  const std::uint64_t code = magnitude_code<kFormat>(x);
  const std::uint32_t overflow = saturation == __NV_SATFINITE ? largest : largest + 1;
  const std::uint32_t bounded = code > largest ? overflow : static_cast<std::uint32_t>(code);
  const std::uint32_t number = bounded | sign_code<kFormat>(x);
  return static_cast<std::uint8_t>(is_nan_bits(bits) ? kFormat.nan() : number);
}

constexpr std::uint8_t fp8_of(double x, __nv_saturation_t saturation,
                              __nv_fp8_interpretation_t interpretation) {
  return interpretation == __NV_E4M3 ? fp8_of<kE4m3>(x, saturation, 0x7e)
                                     : fp8_of<kE5m2>(x, saturation, 0x7b);
}

constexpr float e4m3_value(std::uint32_t code) {
  const std::uint32_t magnitude = code & 0x7f;
  const auto finite = std::bit_cast<std::uint32_t>(widened_finite<kE4m3>(magnitude));
  const std::uint32_t number = finite | (code & 0x80) << 24;
  return std::bit_cast<float>(magnitude == 0x7f ? 0x7fffffff : number);
}

constexpr float fp8_value(std::uint32_t code, __nv_fp8_interpretation_t interpretation) {
  return interpretation == __NV_E4M3 ? e4m3_value(code) : widened<kE5m2>(code);
}

}  // namespace recto::simt::device

inline __nv_fp8_storage_t __nv_cvt_float_to_fp8(float x, __nv_saturation_t saturation,
                                                __nv_fp8_interpretation_t interpretation) {
  return recto::simt::device::fp8_of(x, saturation, interpretation);
}
inline __nv_fp8_storage_t __nv_cvt_halfraw_to_fp8(__half_raw x, __nv_saturation_t saturation,
                                                  __nv_fp8_interpretation_t interpretation) {
  return recto::simt::device::fp8_of(float{__half(x)}, saturation, interpretation);
}
inline __nv_fp8_storage_t __nv_cvt_bfloat16raw_to_fp8(__nv_bfloat16_raw x,
                                                      __nv_saturation_t saturation,
                                                      __nv_fp8_interpretation_t interpretation) {
  return recto::simt::device::fp8_of(float{__nv_bfloat16(x)}, saturation, interpretation);
}
// Exact; NaN becomes the canonical one.
inline __half_raw __nv_cvt_fp8_to_halfraw(__nv_fp8_storage_t code,
                                          __nv_fp8_interpretation_t interpretation) {
  return __half(recto::simt::device::fp8_value(code, interpretation));
}

// Converts two numbers at a time, the first into the lower byte.
inline __nv_fp8x2_storage_t __nv_cvt_float2_to_fp8x2(float2 x, __nv_saturation_t saturation,
                                                     __nv_fp8_interpretation_t interpretation) {
  const unsigned low = __nv_cvt_float_to_fp8(x.x, saturation, interpretation);
  const unsigned high = __nv_cvt_float_to_fp8(x.y, saturation, interpretation);
  return static_cast<__nv_fp8x2_storage_t>(low | high << 8);
}
inline __nv_fp8x2_storage_t __nv_cvt_halfraw2_to_fp8x2(__half2_raw x, __nv_saturation_t saturation,
                                                       __nv_fp8_interpretation_t interpretation) {
  const unsigned low = __nv_cvt_halfraw_to_fp8({x.x}, saturation, interpretation);
  const unsigned high = __nv_cvt_halfraw_to_fp8({x.y}, saturation, interpretation);
  return static_cast<__nv_fp8x2_storage_t>(low | high << 8);
}
inline __half2_raw __nv_cvt_fp8x2_to_halfraw2(__nv_fp8x2_storage_t codes,
                                              __nv_fp8_interpretation_t interpretation) {
  const auto low = static_cast<__nv_fp8_storage_t>(codes);
  const auto high = static_cast<__nv_fp8_storage_t>(codes >> 8);
  return {__nv_cvt_fp8_to_halfraw(low, interpretation).x,
          __nv_cvt_fp8_to_halfraw(high, interpretation).x};
}

// Both constructors saturate, as NVIDIA's do.
#define RECTO_SIMT_FP8(name, interpretation)                                                     \
  struct name {                                                                                  \
    name() = default;                                                                            \
    explicit name(float x) : __x(__nv_cvt_float_to_fp8(x, __NV_SATFINITE, interpretation)) {}    \
    explicit name(__half x) : __x(__nv_cvt_halfraw_to_fp8(x, __NV_SATFINITE, interpretation)) {} \
    explicit name(__nv_bfloat16 x)                                                               \
        : __x(__nv_cvt_bfloat16raw_to_fp8(x, __NV_SATFINITE, interpretation)) {}                 \
    explicit operator float() const {                                                            \
      return ::recto::simt::device::fp8_value(__x, interpretation);                              \
    }                                                                                            \
    explicit operator __half() const { return __nv_cvt_fp8_to_halfraw(__x, interpretation); }    \
    explicit operator __nv_bfloat16() const {                                                    \
      return __nv_bfloat16(::recto::simt::device::fp8_value(__x, interpretation));               \
    }                                                                                            \
                                                                                                 \
    __nv_fp8_storage_t __x;                                                                      \
  };
RECTO_SIMT_FP8(__nv_fp8_e4m3, __NV_E4M3)
RECTO_SIMT_FP8(__nv_fp8_e5m2, __NV_E5M2)
#undef RECTO_SIMT_FP8
