#pragma once

// Comparisons of __half and __nv_bfloat16, and of pairs of them, as in <cuda_fp16.h> and
// <cuda_bf16.h>.

#include "verify/simt/dialect/simt_half_traits.h"

template <recto::simt::device::HalfType T>
bool __hisnan(T a) {
  return recto::simt::device::is_nan(a);
}
// 1 for +infinity, -1 for -infinity, else 0.
template <recto::simt::device::HalfType T>
int __hisinf(T a) {
  return recto::simt::device::infinity_sign(a);
}

// +0 is larger than -0. For a number and NaN, the result is the number; with _nan, NaN.
#define RECTO_SIMT_HALF_EXTREME(name, symbol)                                             \
  template <recto::simt::device::HalfType T>                                              \
  T name(T a, T b) {                                                                      \
    namespace simt = ::recto::simt::device;                                               \
    return simt::choose_number(a, b, simt::order_of(a) symbol simt::order_of(b) ? a : b); \
  }                                                                                       \
  template <recto::simt::device::HalfType T>                                              \
  T name##_nan(T a, T b) {                                                                \
    namespace simt = ::recto::simt::device;                                               \
    return simt::choose_nan(a, b, simt::order_of(a) symbol simt::order_of(b) ? a : b);    \
  }                                                                                       \
  template <recto::simt::device::HalfPair T>                                              \
  T name##2(T a, T b) {                                                                   \
    return {name(a.x, b.x), name(a.y, b.y)};                                              \
  }                                                                                       \
  template <recto::simt::device::HalfPair T>                                              \
  T name##2_nan(T a, T b) {                                                               \
    return {name##_nan(a.x, b.x), name##_nan(a.y, b.y)};                                  \
  }
RECTO_SIMT_HALF_EXTREME(__hmax, >)
RECTO_SIMT_HALF_EXTREME(__hmin, <)
#undef RECTO_SIMT_HALF_EXTREME

// With a NaN, the plain form is false and the one with u (unordered) is true. For pairs, 1 or 0 for
// each; with b, whether it holds for both.
#define RECTO_SIMT_HALF_COMPARISON(name, symbol)                                         \
  template <recto::simt::device::HalfType T>                                             \
  bool __h##name(T a, T b) {                                                             \
    return !__hisnan(a) && !__hisnan(b) && float{a} symbol float{b};                     \
  }                                                                                      \
  template <recto::simt::device::HalfType T>                                             \
  bool __h##name##u(T a, T b) {                                                          \
    return __hisnan(a) || __hisnan(b) || float{a} symbol float{b};                       \
  }                                                                                      \
  template <recto::simt::device::HalfPair T>                                             \
  T __h##name##2(T a, T b) {                                                             \
    return {__h##name(a.x, b.x) ? 1.0F : 0.0F, __h##name(a.y, b.y) ? 1.0F : 0.0F};       \
  }                                                                                      \
  template <recto::simt::device::HalfPair T>                                             \
  T __h##name##u2(T a, T b) {                                                            \
    return {__h##name##u(a.x, b.x) ? 1.0F : 0.0F, __h##name##u(a.y, b.y) ? 1.0F : 0.0F}; \
  }                                                                                      \
  template <recto::simt::device::HalfPair T>                                             \
  bool __hb##name##2(T a, T b) {                                                         \
    return __h##name(a.x, b.x) && __h##name(a.y, b.y);                                   \
  }                                                                                      \
  template <recto::simt::device::HalfPair T>                                             \
  bool __hb##name##u2(T a, T b) {                                                        \
    return __h##name##u(a.x, b.x) && __h##name##u(a.y, b.y);                             \
  }
RECTO_SIMT_HALF_COMPARISON(eq, ==)
RECTO_SIMT_HALF_COMPARISON(ne, !=)
RECTO_SIMT_HALF_COMPARISON(lt, <)
RECTO_SIMT_HALF_COMPARISON(le, <=)
RECTO_SIMT_HALF_COMPARISON(gt, >)
RECTO_SIMT_HALF_COMPARISON(ge, >=)
#undef RECTO_SIMT_HALF_COMPARISON
