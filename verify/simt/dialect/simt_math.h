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

#define RECTO_SIMT_APPROXIMATE(name, function)                                   \
  inline float name(float x) {                                                   \
    using ::recto::simt::device::ApproximateFunction;                            \
    return ::recto::simt::device::approximate(ApproximateFunction::function, x); \
  }
RECTO_SIMT_APPROXIMATE(__expf, kFastExp)
RECTO_SIMT_APPROXIMATE(__exp10f, kFastExp10)
RECTO_SIMT_APPROXIMATE(__logf, kFastLog)
RECTO_SIMT_APPROXIMATE(__log2f, kFastLog2)
RECTO_SIMT_APPROXIMATE(__log10f, kFastLog10)
RECTO_SIMT_APPROXIMATE(__sinf, kFastSin)
RECTO_SIMT_APPROXIMATE(__cosf, kFastCos)
RECTO_SIMT_APPROXIMATE(__tanhf, kFastTanh)
RECTO_SIMT_APPROXIMATE(rsqrtf, kRsqrt)
RECTO_SIMT_APPROXIMATE(recto_simt_expf, kExp)
RECTO_SIMT_APPROXIMATE(recto_simt_exp2f, kExp2)
RECTO_SIMT_APPROXIMATE(recto_simt_exp10f, kExp10)
RECTO_SIMT_APPROXIMATE(recto_simt_expm1f, kExpm1)
RECTO_SIMT_APPROXIMATE(recto_simt_logf, kLog)
RECTO_SIMT_APPROXIMATE(recto_simt_log2f, kLog2)
RECTO_SIMT_APPROXIMATE(recto_simt_log10f, kLog10)
RECTO_SIMT_APPROXIMATE(recto_simt_log1pf, kLog1p)
RECTO_SIMT_APPROXIMATE(recto_simt_sinf, kSin)
RECTO_SIMT_APPROXIMATE(recto_simt_cosf, kCos)
RECTO_SIMT_APPROXIMATE(recto_simt_tanf, kTan)
RECTO_SIMT_APPROXIMATE(recto_simt_tanhf, kTanh)
RECTO_SIMT_APPROXIMATE(recto_simt_erff, kErf)
#undef RECTO_SIMT_APPROXIMATE

inline float recto_simt_powf(float x, float y) {
  return recto::simt::device::approximate_power(x, y);
}
inline void recto_simt_sincosf(float x, float* sine, float* cosine) {
  *sine = recto_simt_sinf(x);
  *cosine = recto_simt_cosf(x);
}

#define expf(x) recto_simt_expf(x)
#define exp2f(x) recto_simt_exp2f(x)
#define exp10f(x) recto_simt_exp10f(x)
#define expm1f(x) recto_simt_expm1f(x)
#define logf(x) recto_simt_logf(x)
#define log2f(x) recto_simt_log2f(x)
#define log10f(x) recto_simt_log10f(x)
#define log1pf(x) recto_simt_log1pf(x)
#define sinf(x) recto_simt_sinf(x)
#define cosf(x) recto_simt_cosf(x)
#define tanf(x) recto_simt_tanf(x)
#define tanhf(x) recto_simt_tanhf(x)
#define erff(x) recto_simt_erff(x)
#define powf(x, y) recto_simt_powf(x, y)
#define sincosf(x, sine, cosine) recto_simt_sincosf(x, sine, cosine)

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
inline float recto_simt_fmaxf(float x, float y) { return max(x, y); }
inline float recto_simt_fminf(float x, float y) { return min(x, y); }
#define fmaxf(x, y) recto_simt_fmaxf(x, y)
#define fminf(x, y) recto_simt_fminf(x, y)
