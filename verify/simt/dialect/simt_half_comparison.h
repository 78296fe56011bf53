#pragma once

// Comparisons of __half and __nv_bfloat16, and of pairs of them, as in <cuda_fp16.h> and
// <cuda_bf16.h>.

#include "verify/simt/dialect/simt_half.h"

namespace recto::simt::device {

// An integer in the order of the values, with -0 below +0, as max and min need it.
template <HalfType T>
std::int32_t order_of(T value) {
  const auto magnitude = static_cast<std::int32_t>(magnitude_of(value));
  const std::int32_t below_zero = -magnitude - 1;
  return (code_of(value) & kFormatOf<T>.sign()) != 0 ? below_zero : magnitude;
}

// `chosen` if both are numbers; else the one that is a number, or the canonical NaN if none is.
template <HalfType T>
T choose_number(T a, T b, T chosen) {
  const std::uint32_t other = code_of(canonical<T>(code_of(b)));
  const std::uint32_t number = is_nan(b) ? code_of(a) : code_of(chosen);
  return with_code<T>(is_nan(a) ? other : number);
}

// `chosen` if both are numbers, else the canonical NaN.
template <HalfType T>
T choose_nan(T a, T b, T chosen) {
  const std::uint32_t number = is_nan(b) ? kFormatOf<T>.nan() : code_of(chosen);
  return with_code<T>(is_nan(a) ? kFormatOf<T>.nan() : number);
}

}  // namespace recto::simt::device

template <recto::simt::device::HalfType T>
bool __hisnan(T a) {
  return recto::simt::device::is_nan(a);
}
// 1 for +infinity, -1 for -infinity, else 0.
template <recto::simt::device::HalfType T>
int __hisinf(T a) {
  namespace simt = recto::simt::device;
  const bool is_infinite = simt::magnitude_of(a) == simt::kFormatOf<T>.infinity();
  return !is_infinite ? 0 : (simt::code_of(a) & simt::kFormatOf<T>.sign()) != 0 ? -1 : 1;
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
