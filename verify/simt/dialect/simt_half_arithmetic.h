#pragma once

// Arithmetic of __half and __nv_bfloat16, and of pairs of them, as in <cuda_fp16.h> and
// <cuda_bf16.h>. Results are rounded once, to nearest even; subnormals are kept; a result that is
// NaN is the canonical one. Sums, products and quotients in fp64 have more than twice as many bits,
// so rounding them again equals rounding once (Figueroa 1995, When is double rounding innocuous?).

#include "verify/simt/dialect/simt_atomics.h"
#include "verify/simt/dialect/simt_half.h"

namespace recto::simt::device {

template <HalfType T>
inline constexpr bool kHasAtomicAdd<T> = true;
template <HalfPair T>
inline constexpr bool kHasAtomicAdd<T> = true;

}  // namespace recto::simt::device

// name(a, b), name2 for pairs, and name_sat, name2_sat, whose results are clamped to [0, 1].
#define RECTO_SIMT_HALF_OPERATION(name, symbol)                                    \
  template <recto::simt::device::HalfType T>                                       \
  T name(T a, T b) {                                                               \
    return recto::simt::device::rounded<T>(double {                                \
      float { a }                                                                  \
    } symbol double{float{b}});                                                    \
  }                                                                                \
  template <recto::simt::device::HalfType T>                                       \
  T name##_rn(T a, T b) {                                                          \
    return name(a, b);                                                             \
  }                                                                                \
  template <recto::simt::device::HalfType T>                                       \
  T name##_sat(T a, T b) {                                                         \
    return recto::simt::device::saturated(name(a, b));                             \
  }                                                                                \
  template <recto::simt::device::HalfPair T>                                       \
  T name##2(T a, T b) {                                                            \
    return {name(a.x, b.x), name(a.y, b.y)};                                       \
  }                                                                                \
  template <recto::simt::device::HalfPair T>                                       \
  T name##2_rn(T a, T b) {                                                         \
    return name##2(a, b);                                                          \
  }                                                                                \
  template <recto::simt::device::HalfPair T>                                       \
  T name##2_sat(T a, T b) {                                                        \
    return {name##_sat(a.x, b.x), name##_sat(a.y, b.y)};                           \
  }                                                                                \
  template <recto::simt::device::HalfType T>                                       \
  T operator symbol(T a, T b) {                                                    \
    return name(a, b);                                                             \
  }                                                                                \
  template <recto::simt::device::HalfPair T>                                       \
  T operator symbol(T a, T b) {                                                    \
    return name##2(a, b);                                                          \
  }                                                                                \
  template <typename T>                                                            \
  requires recto::simt::device::HalfType<T> || recto::simt::device::HalfPair<T> T& \
  operator symbol##=(T& a, T b) {                                                  \
    return a = a symbol b;                                                         \
  }

RECTO_SIMT_HALF_OPERATION(__hadd, +)
RECTO_SIMT_HALF_OPERATION(__hsub, -)
RECTO_SIMT_HALF_OPERATION(__hmul, *)
RECTO_SIMT_HALF_OPERATION(__hdiv, /)
#undef RECTO_SIMT_HALF_OPERATION

template <recto::simt::device::HalfPair T>
T __h2div(T a, T b) {
  return a / b;
}

template <recto::simt::device::HalfType T>
T __hneg(T a) {
  namespace simt = recto::simt::device;
  return simt::canonical<T>(simt::code_of(a) ^ simt::kFormatOf<T>.sign());
}
template <recto::simt::device::HalfType T>
T __habs(T a) {
  return recto::simt::device::canonical<T>(recto::simt::device::magnitude_of(a));
}
template <recto::simt::device::HalfPair T>
T __hneg2(T a) {
  return {__hneg(a.x), __hneg(a.y)};
}
template <recto::simt::device::HalfPair T>
T __habs2(T a) {
  return {__habs(a.x), __habs(a.y)};
}
template <recto::simt::device::HalfType T>
T operator-(T a) {
  return __hneg(a);
}
template <recto::simt::device::HalfPair T>
T operator-(T a) {
  return __hneg2(a);
}

// One element of a pair.
template <recto::simt::device::HalfPair T>
float __low2float(T pair) {
  return pair.x;
}
template <recto::simt::device::HalfPair T>
float __high2float(T pair) {
  return pair.y;
}
template <recto::simt::device::HalfPair T>
T __lowhigh2highlow(T pair) {
  return {pair.y, pair.x};
}
