#pragma once

// CUDA's fp32 functions. The launch's arithmetic determines whether the approximate ones are
// accurate or off by up to the error that CUDA documents (fast_math.h); the others are those of
// IEEE 754. Subnormals are kept everywhere, as without -ftz=true.
//
// expf and its siblings are names of the host's library, so they are macros here. The overloads in
// std:: (exp of a float, and so on) remain the host's and are not perturbed.

#include <math.h>  // isnan and isinf without std::
#include <cmath>
#include <concepts>
#include <cstdint>

#include "verify/simt/dialect/fast_math.h"

// (Without :: before it, since a call may be of ::expf.)
#define RECTO_SIMT_APPROXIMATE(function, x) \
  recto::simt::device::approximate(recto::simt::device::ApproximateFunction::function, x)

#define expf(x) RECTO_SIMT_APPROXIMATE(kExp, x)
#define exp2f(x) RECTO_SIMT_APPROXIMATE(kExp2, x)
#define exp10f(x) RECTO_SIMT_APPROXIMATE(kExp10, x)
#define expm1f(x) RECTO_SIMT_APPROXIMATE(kExpm1, x)
#define logf(x) RECTO_SIMT_APPROXIMATE(kLog, x)
#define log2f(x) RECTO_SIMT_APPROXIMATE(kLog2, x)
#define log10f(x) RECTO_SIMT_APPROXIMATE(kLog10, x)
#define log1pf(x) RECTO_SIMT_APPROXIMATE(kLog1p, x)
#define sinf(x) RECTO_SIMT_APPROXIMATE(kSin, x)
#define cosf(x) RECTO_SIMT_APPROXIMATE(kCos, x)
#define tanf(x) RECTO_SIMT_APPROXIMATE(kTan, x)
#define tanhf(x) RECTO_SIMT_APPROXIMATE(kTanh, x)
#define erff(x) RECTO_SIMT_APPROXIMATE(kErf, x)
#define powf(x, y) recto::simt::device::approximate_power(x, y)
#define sincosf(x, sine, cosine) recto_simt_sincosf(x, sine, cosine)

inline void recto_simt_sincosf(float x, float* sine, float* cosine) {
  *sine = sinf(x);
  *cosine = cosf(x);
}
inline float rsqrtf(float x) { return RECTO_SIMT_APPROXIMATE(kRsqrt, x); }
inline float __expf(float x) { return RECTO_SIMT_APPROXIMATE(kFastExp, x); }
inline float __exp10f(float x) { return RECTO_SIMT_APPROXIMATE(kFastExp10, x); }
inline float __logf(float x) { return RECTO_SIMT_APPROXIMATE(kFastLog, x); }
inline float __log2f(float x) { return RECTO_SIMT_APPROXIMATE(kFastLog2, x); }
inline float __log10f(float x) { return RECTO_SIMT_APPROXIMATE(kFastLog10, x); }
inline float __sinf(float x) { return RECTO_SIMT_APPROXIMATE(kFastSin, x); }
inline float __cosf(float x) { return RECTO_SIMT_APPROXIMATE(kFastCos, x); }
inline float __tanhf(float x) { return RECTO_SIMT_APPROXIMATE(kFastTanh, x); }

// Derived from others, as in the CUDA C++ Programming Guide.
inline float __powf(float x, float y) { return exp2f(y * __log2f(x)); }
inline float __tanf(float x) { return __sinf(x) * (1 / __cosf(x)); }
inline void __sincosf(float x, float* sine, float* cosine) {
  *sine = __sinf(x);
  *cosine = __cosf(x);
}

inline float __fdividef(float x, float y) {
  return recto::simt::device::approximate_quotient(x, y);
}
// Clamped to [+0, 1]; NaN becomes +0.
inline float __saturatef(float x) { return x > 0.0F ? (x > 1.0F ? 1.0F : x) : 0.0F; }

// Rounded once to nearest, and never contracted.
inline float __fadd_rn(float x, float y) { return x + y; }
inline float __fsub_rn(float x, float y) { return x - y; }
inline float __fmul_rn(float x, float y) { return x * y; }
inline float __fdiv_rn(float x, float y) { return x / y; }
inline float __frcp_rn(float x) { return 1.0F / x; }
inline float __fsqrt_rn(float x) { return std::sqrt(x); }
inline float __fmaf_rn(float x, float y, float z) { return std::fma(x, y, z); }
inline float __frsqrt_rn(float x) { return static_cast<float>(1 / std::sqrt(double{x})); }
inline double __dadd_rn(double x, double y) { return x + y; }
inline double __dsub_rn(double x, double y) { return x - y; }
inline double __dmul_rn(double x, double y) { return x * y; }
inline double __ddiv_rn(double x, double y) { return x / y; }
inline double __fma_rn(double x, double y, double z) { return std::fma(x, y, z); }

namespace recto::simt::device {

// For NaN and a number, the number; +0 is larger than -0 (IEEE 754-2019's maximumNumber). Without
// branches, as in simt_narrow.h.
template <std::floating_point T>
T maximum_number(T x, T y) {
  const T of_equals = std::signbit(x) ? y : x;
  const T larger = x > y ? x : y;
  const T number = x == y ? of_equals : larger;
  const T of_x_and_nan = std::isnan(y) ? x : number;
  return std::isnan(x) ? y : of_x_and_nan;
}
template <std::floating_point T>
T minimum_number(T x, T y) {
  const T of_equals = std::signbit(x) ? x : y;
  const T smaller = x < y ? x : y;
  const T number = x == y ? of_equals : smaller;
  const T of_x_and_nan = std::isnan(y) ? x : number;
  return std::isnan(x) ? y : of_x_and_nan;
}

}  // namespace recto::simt::device

template <std::floating_point A, std::floating_point B>
auto max(A x, B y) {
  return recto::simt::device::maximum_number<decltype(x + y)>(x, y);
}
template <std::floating_point A, std::floating_point B>
auto min(A x, B y) {
  return recto::simt::device::minimum_number<decltype(x + y)>(x, y);
}
// The host's functions differ in the sign of zero.
#define fmaxf(x, y) recto::simt::device::maximum_number<float>(x, y)
#define fminf(x, y) recto::simt::device::minimum_number<float>(x, y)
