#pragma once

// What NVIDIA's <cuda_fp16.h> and <cuda_bf16.h> provide only to nvcc: fused multiply-adds, rounded
// once, and half-precision functions, which are the accurate ones of fp32, rounded.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <concepts>
#include <cstdint>

#include "verify/simt/dialect/simt_math.h"
#include "verify/simt/dialect/simt_narrow.h"

namespace simt_foreign {

template <typename T>
concept Half = std::same_as<T, __half> || std::same_as<T, __nv_bfloat16>;
template <typename T>
concept HalfPair = std::same_as<T, __half2> || std::same_as<T, __nv_bfloat162>;

template <Half T>
inline constexpr recto::simt::device::NarrowFormat kFormat =
    std::same_as<T, __half> ? recto::simt::device::kHalf : recto::simt::device::kBfloat16;

template <Half T>
float number_of(T half) {
  return recto::simt::device::widened<kFormat<T>>(__builtin_bit_cast(std::uint16_t, half));
}
template <Half T>
T half_of(float number) {
  return __builtin_bit_cast(T, recto::simt::device::narrowed<kFormat<T>>(number));
}

// saturated: clamped to [+0, 1], NaN becomes +0. rectified: at least +0, NaN stays.
template <Half T>
T saturated(T half) {
  return half_of<T>(__saturatef(number_of(half)));
}
template <Half T>
T rectified(T half) {
  return number_of(half) < 0.0F ? half_of<T>(0.0F) : half;
}

}  // namespace simt_foreign

template <simt_foreign::Half T>
T __hfma(T a, T b, T c) {
  using simt_foreign::number_of;
  return __builtin_bit_cast(T, recto::simt::device::fused<simt_foreign::kFormat<T>>(
                                   number_of(a), number_of(b), number_of(c)));
}
template <simt_foreign::Half T>
T __hfma_sat(T a, T b, T c) {
  return simt_foreign::saturated(__hfma(a, b, c));
}
template <simt_foreign::Half T>
T __hfma_relu(T a, T b, T c) {
  return simt_foreign::rectified(__hfma(a, b, c));
}

#define SIMT_FOREIGN_FMA_OF_PAIRS(pairs, one)         \
  template <simt_foreign::HalfPair T>                 \
  T pairs(T a, T b, T c) {                            \
    return T(one(a.x, b.x, c.x), one(a.y, b.y, c.y)); \
  }
SIMT_FOREIGN_FMA_OF_PAIRS(__hfma2, __hfma)
SIMT_FOREIGN_FMA_OF_PAIRS(__hfma2_sat, __hfma_sat)
SIMT_FOREIGN_FMA_OF_PAIRS(__hfma2_relu, __hfma_relu)
#undef SIMT_FOREIGN_FMA_OF_PAIRS

// hNAME for one number, h2NAME for a pair.
#define SIMT_FOREIGN_HALF_FUNCTION(name, ...)                           \
  template <simt_foreign::Half T>                                       \
  T h##name(T half) {                                                   \
    const auto of = [](float x) { return __VA_ARGS__; };                \
    return simt_foreign::half_of<T>(of(simt_foreign::number_of(half))); \
  }                                                                     \
  template <simt_foreign::HalfPair T>                                   \
  T h2##name(T pair) {                                                  \
    return T(h##name(pair.x), h##name(pair.y));                         \
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
