#include "verify/simt/dialect/fast_math.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numbers>

#include "core/random_stream.h"
#include "verify/simt/dialect/simt_taint.h"
#include "verify/simt/executor/device_api.h"

namespace recto::simt::device {
namespace {

using enum ApproximateFunction;

double exp10_of(double x) { return std::pow(10.0, x); }
double reciprocal_root(double x) { return 1 / std::sqrt(x); }

constexpr double kPi = std::numbers::pi;
constexpr double kQuotientUlps = 2;
constexpr double kPowerUlps = 4;

// CUDA C++ Programming Guide 13.0, Mathematical Functions: the tables of standard and of intrinsic
// single-precision functions. tanh.approx is the PTX ISA's. Beyond [-pi, pi] the guide says that
// the errors of __sinf and __cosf are larger, but not by how much: here, in proportion to the
// argument. Absolute errors (2^-21.41, 2^-21.19) are rounded down.
constexpr DocumentedError kErrors[] = {
    {kExp, "expf", std::exp, 2},
    {kExp2, "exp2f", std::exp2, 2},
    {kExp10, "exp10f", exp10_of, 2},
    {kExpm1, "expm1f", std::expm1, 1},
    {kLog, "logf", std::log, 1},
    {kLog2, "log2f", std::log2, 1},
    {kLog10, "log10f", std::log10, 2},
    {kLog1p, "log1pf", std::log1p, 1},
    {kSin, "sinf", std::sin, 2},
    {kCos, "cosf", std::cos, 2},
    {kTan, "tanf", std::tan, 4},
    {kTanh, "tanhf", std::tanh, 2},
    {kErf, "erff", std::erf, 2},
    {kRsqrt, "rsqrtf", reciprocal_root, 2},
    {kFastExp, "__expf", std::exp, 2, 1.173},
    {kFastExp10, "__exp10f", exp10_of, 2, 2.97},
    {kFastLog, "__logf", std::log, 3, 0, 0, 0x1.8p-22, 0.5, 2},
    {kFastLog2, "__log2f", std::log2, 2, 0, 0, 0x1p-22, 0.5, 2},
    {kFastLog10, "__log10f", std::log10, 3, 0, 0, 0x1p-24, 0.5, 2},
    {kFastSin, "__sinf", std::sin, 0, 0, 0, 0x1.8p-22, -kPi, kPi},
    {kFastCos, "__cosf", std::cos, 0, 0, 0, 0x1.cp-22, -kPi, kPi},
    {kFastTanh, "tanh.approx.f32", std::tanh, 0, 0, 0x1p-11},
};

double ulp_of(float x) {
  const int exponent = x == 0 ? -126 : std::max(std::ilogb(x), -126);
  return std::ldexp(1.0, exponent - 23);
}

// `rounded`, or an fp32 number at most `error` away from it.
float perturbed(float rounded, double error, std::uint64_t arguments) {
  const double ulp = ulp_of(rounded);
  const double steps_max = std::floor(error / ulp);
  const std::uint64_t hash = mix_bits(arguments + mix_bits(arithmetic().fast_math_seed));
  // A quarter of all results are off by the maximum, an eighth in each direction.
  double share = static_cast<double>(hash >> 12) * 0x1p-51 - 1;
  if ((hash & 3) == 0) share = (hash & 4) != 0 ? 1 : -1;
  const double steps = std::round(share * steps_max);
  const auto result = static_cast<float>(rounded + steps * ulp);
  // Above the next power of two, not every step is an fp32 number.
  return std::abs(result - static_cast<double>(rounded)) <= error ? result : rounded;
}

std::uint64_t hashable(float x, float y, unsigned function) {
  const std::uint64_t bits = std::bit_cast<std::uint32_t>(x);
  return mix_bits(bits << 32 | std::bit_cast<std::uint32_t>(y)) + function;
}

bool is_exact(double exact) { return exact == 0 || exact == 1 || !std::isfinite(exact); }

float chosen(double exact, double error, std::uint64_t arguments) {
  const auto rounded = static_cast<float>(exact);
  return is_exact(exact) || !std::isfinite(rounded) ? rounded
                                                    : perturbed(rounded, error, arguments);
}

bool is_one_instruction(ApproximateFunction function) {
  return function == kExp2 || function >= kFastExp;
}

bool is_accurate(ApproximateFunction function) {
  const FastMath how = arithmetic().fast_math;
  return how == FastMath::kAccurate ||
         (how == FastMath::kLibraryPerturbed && is_one_instruction(function));
}

}  // namespace

std::span<const DocumentedError> documented_errors() { return kErrors; }

double error_allowed(const DocumentedError& row, double x, float rounded) {
  const bool is_absolute_only = row.ulps == 0 && row.absolute > 0;
  if (is_absolute_only) return row.absolute * std::max(1.0, std::abs(x) / row.absolute_to);
  if (row.absolute > 0 && x >= row.absolute_from && x <= row.absolute_to) return row.absolute;
  if (row.relative > 0) return row.relative * std::abs(static_cast<double>(rounded));
  return (row.ulps + std::floor(row.ulps_per_argument * std::abs(x))) * ulp_of(rounded);
}

// Taint is removed from the arguments and put on the result: the mathematical library does not
// propagate it, and its branches depend on the arguments.

float approximate(ApproximateFunction function, float given) {
  const float x = without_taint(given);
  const DocumentedError& row = kErrors[static_cast<unsigned>(function)];
  const double exact = row.exact(x);
  auto result = static_cast<float>(exact);
  if (!is_accurate(function)) {
    result = chosen(exact, error_allowed(row, x, result),
                    hashable(x, 0, static_cast<unsigned>(function)));
  }
  return with_taint_of(result, given);
}

float approximate_power(float given_x, float given_y) {
  const float x = without_taint(given_x);
  const float y = without_taint(given_y);
  const double exact = std::pow(static_cast<double>(x), static_cast<double>(y));
  auto result = static_cast<float>(exact);
  if (arithmetic().fast_math != FastMath::kAccurate) {
    result = chosen(exact, kPowerUlps * ulp_of(result), hashable(x, y, std::size(kErrors)));
  }
  return with_taint_of(result, given_x, given_y);
}

float approximate_quotient(float given_x, float given_y) {
  const float x = without_taint(given_x);
  const float y = without_taint(given_y);
  // A divisor beyond 2^126 has no normal reciprocal; 0 is used instead.
  const double infinity = std::copysign(std::numeric_limits<double>::infinity(), y);
  const double divisor = std::abs(y) > 0x1p126F ? infinity : y;
  const double exact = x / divisor;
  auto result = static_cast<float>(exact);
  if (arithmetic().fast_math == FastMath::kPerturbed) {
    result = chosen(exact, kQuotientUlps * ulp_of(result), hashable(x, y, std::size(kErrors) + 1));
  }
  return with_taint_of(result, given_x, given_y);
}

}  // namespace recto::simt::device
