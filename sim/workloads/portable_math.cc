#include "sim/workloads/portable_math.h"

#include <cmath>
#include <limits>

namespace recto::sim {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// ln 2 in two parts. The last 21 bits of the high part are zero, so that its product with any
// binary exponent is exact (the split of fdlibm, Sun Microsystems, 1993).
constexpr double kLn2High = 0x1.62e42feep-1;
constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
constexpr double kLog2E = 0x1.71547652b82fep0;
constexpr double kSqrtHalf = 0x1.6a09e667f3bcdp-1;

// 2 (z / 3 + z^2 / 5 + z^3 / 7 + ...) for z <= 0.0295; omitted terms are below 2^-58.
double atanh_tail(double z) {
  constexpr int kTerms = 10;
  double sum = 0;
  for (int i = kTerms; i >= 1; --i) sum = z * (2.0 / (2 * i + 1) + sum);
  return sum;
}

// r^2/2! + r^3/3! + ... for |r| <= 0.35; omitted terms are below 2^-57.
double exp_tail(double r) {
  constexpr int kLastPower = 13;
  double sum = 1;
  for (int i = kLastPower; i >= 3; --i) sum = 1 + sum * (r / i);
  return 0.5 * r * r * sum;
}

}  // namespace

// x = 2^k (1 + f) with 1 + f in [sqrt(1/2), sqrt(2)). With s = f / (2 + f),
// log(1 + f) = 2 atanh(s) = f - (f^2/2 - s (f^2/2 + tail)), which adds small corrections to an
// exact f: the arrangement of fdlibm's e_log.c, with the Taylor coefficients of atanh.
double portable_log(double x) {
  if (!(x > 0)) return x == 0 ? -kInfinity : kNaN;
  if (x == kInfinity) return x;
  int exponent = 0;
  double mantissa = std::frexp(x, &exponent);
  if (mantissa < kSqrtHalf) {
    mantissa *= 2;
    --exponent;
  }
  const double k = exponent;
  const double f = mantissa - 1;
  const double s = f / (2 + f);
  const double half_square = 0.5 * f * f;
  const double correction = s * (half_square + atanh_tail(s * s));
  return k * kLn2High - ((half_square - (correction + k * kLn2Low)) - f);
}

// The factor x / (u - 1) corrects the rounding of u = 1 + x: Higham, "Accuracy and Stability of
// Numerical Algorithms", 2nd ed., problem 1.5 (due to Kahan).
double portable_log1p(double x) {
  constexpr double kOneIsRoundedAway = 0x1p54;
  if (x >= kOneIsRoundedAway) return portable_log(x);
  const double u = 1 + x;
  if (u == 1) return x;
  return portable_log(u) * (x / (u - 1));
}

// x = k ln 2 + r with |r| <= ln(2) / 2; e^x = 2^k e^r, r in two parts.
double portable_exp(double x) {
  constexpr double kOverflow = 0x1.62e42fefa39efp9;
  constexpr double kUnderflow = -0x1.74910d52d3052p9;
  if (x != x) return x;
  if (x > kOverflow) return kInfinity;
  if (x < kUnderflow) return 0;
  const double k = std::floor(x * kLog2E + 0.5);
  const double high = x - k * kLn2High;
  const double low = k * kLn2Low;
  const double r = high - low;
  return std::ldexp(1 + (high + (exp_tail(r) - low)), static_cast<int>(k));
}

// As for log1p: (u - 1) / log(u) varies slowly near u = 1, so the rounding of u cancels. Higham,
// section 1.14.1.
double portable_expm1(double x) {
  const double u = portable_exp(x);
  if (u == 1) return x;
  if (u == kInfinity || u - 1 == -1) return u - 1;
  return (u - 1) * (x / portable_log(u));
}

double portable_pow(double base, double exponent) {
  if (exponent == 0 || base == 1) return 1;
  return portable_exp(exponent * portable_log(base));
}

}  // namespace recto::sim
