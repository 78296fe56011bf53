#pragma once

// What NVIDIA's <cuda_fp16.h> and <cuda_bf16.h> provide only to nvcc: fused multiply-adds (those of
// simt_half_traits.h), and half-precision functions, which are the accurate ones of fp32, rounded.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "verify/simt/dialect/simt_half_traits.h"
#include "verify/simt/dialect/simt_math.h"

template <>
inline constexpr auto recto::simt::device::kFormatOf<__half> = recto::simt::device::kHalf;
template <>
inline constexpr auto recto::simt::device::kFormatOf<__nv_bfloat16> =
    recto::simt::device::kBfloat16;

// hNAME for one number, h2NAME for a pair.
#define SIMT_FOREIGN_HALF_FUNCTION(name, ...)                                         \
  template <recto::simt::device::HalfType T>                                          \
  T h##name(T half) {                                                                 \
    const auto of = [](float x) { return __VA_ARGS__; };                              \
    return recto::simt::device::rounded<T>(of(recto::simt::device::number_of(half))); \
  }                                                                                   \
  template <recto::simt::device::HalfPair T>                                          \
  T h2##name(T pair) {                                                                \
    return T(h##name(pair.x), h##name(pair.y));                                       \
  }
SIMT_FOREIGN_HALF_FUNCTION(exp, expf(x))
SIMT_FOREIGN_HALF_FUNCTION(exp2, exp2f(x))
SIMT_FOREIGN_HALF_FUNCTION(exp10, exp10f(x))
SIMT_FOREIGN_HALF_FUNCTION(log, logf(x))
SIMT_FOREIGN_HALF_FUNCTION(log2, log2f(x))
SIMT_FOREIGN_HALF_FUNCTION(log10, log10f(x))
SIMT_FOREIGN_HALF_FUNCTION(sin, sinf(x))
SIMT_FOREIGN_HALF_FUNCTION(cos, cosf(x))
SIMT_FOREIGN_HALF_FUNCTION(tanh, tanhf(x))
SIMT_FOREIGN_HALF_FUNCTION(rcp, 1.0F / x)
SIMT_FOREIGN_HALF_FUNCTION(sqrt, std::sqrt(x))
SIMT_FOREIGN_HALF_FUNCTION(rsqrt, rsqrtf(x))
#undef SIMT_FOREIGN_HALF_FUNCTION

inline float fdividef(float x, float y) { return __fdividef(x, y); }
