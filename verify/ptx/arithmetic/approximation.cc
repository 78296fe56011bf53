#include "verify/ptx/arithmetic/approximation.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/contract.h"
#include "core/random_stream.h"

namespace recto::ptx {
namespace {

using enum ApproximateFunction;

// Largest errors. PTX ISA 9.1, at each instruction; powers of two are rounded down.
constexpr double kSqrtRelative = 0x1p-23;
constexpr double kRsqrtRelative = 0x1.125fbp-23;   // 2^-22.9
constexpr double kSinAbsolute = 0x1.6a09ep-21;     // 2^-20.5, to 2 pi
constexpr double kSinAbsoluteFar = 0x1.3b2c4p-15;  // 2^-14.7, to 100 pi
constexpr double kLg2Error = 0x1p-22;              // absolute in (0.5, 2), else relative
constexpr double kTanhRelative = 0x1p-11;
constexpr double kEx2RelativeF16 = 0x1.125fbp-10;  // 2^-9.9
constexpr double kEx2RelativeBf16 = 0x1p-7;
constexpr double kTanhAbsoluteF16 = 0x1.0251p-11;  // 2^-10.987
constexpr double kTanhAbsoluteBf16 = 0x1p-8;

double ulp_of(double x) {
  const int exponent = x == 0 ? -126 : std::max(std::ilogb(x), -126);
  return std::ldexp(1.0, exponent - 23);
}

double exact_value(ApproximateFunction function, double x) {
  switch (function) {
    case kRcp:
      return 1 / x;
    case kSqrt:
      return std::sqrt(x);
    case kRsqrt:
      return 1 / std::sqrt(x);
    case kSin:
      return std::sin(x);
    case kCos:
      return std::cos(x);
    case kLg2:
      return std::log2(x);
    case kEx2:
      return exp2_of(x);
    case kTanh:
      return tanh_of(x);
    case kDiv:
    case kDivFull:
      break;
  }
  RECTO_CHECK(function != kDiv && function != kDivFull);
  return 0;
}

bool is_special(double exact) {
  return exact == 0 || std::abs(exact) == 1 || !std::isfinite(exact);
}

// Uniform in [-1, 1), except that a quarter of all results are off by the maximum.
double share_of_error(std::uint64_t operands, ApproximateFunction function, std::uint64_t seed) {
  const std::uint64_t hash =
      mix_bits(mix_bits(operands) + mix_bits(seed) + static_cast<std::uint64_t>(function));
  if ((hash & 3) == 0) return (hash & 4) != 0 ? 1 : -1;
  return static_cast<double>(hash >> 12) * 0x1p-51 - 1;
}

// An fp32 number at most `error` from the exact one. Only absolute errors change the sign.
float perturbed(double exact, double error, double share) {
  const auto rounded = static_cast<float>(exact);
  const auto moved = static_cast<float>(exact + share * error);
  // Rounding may have taken it beyond the error.
  const float inside = std::abs(moved - exact) <= error ? moved : std::nextafter(moved, rounded);
  const bool is_lost = !std::isfinite(inside) || std::abs(inside - exact) > error;
  return is_lost ? rounded : inside;
}

bool is_of_one_sign(ApproximateFunction function) {
  return function != kSin && function != kCos && function != kLg2;
}

float chosen(double exact, double error, double share) {
  return is_special(exact) || std::isinf(static_cast<float>(exact))
             ? static_cast<float>(exact)
             : perturbed(exact, error, share);
}

}  // namespace

double documented_error(ApproximateFunction function, float x, double exact) {
  const double magnitude = std::abs(exact);
  const double argument = std::abs(static_cast<double>(x));
  switch (function) {
    case kRcp:
      return ulp_of(exact);
    case kSqrt:
      return kSqrtRelative * magnitude;
    case kRsqrt:
      return kRsqrtRelative * magnitude;
    case kSin:
    case kCos:
      return argument <= 2 * std::numbers::pi ? kSinAbsolute : kSinAbsoluteFar;
    case kLg2:
      return x > 0.5F && x < 2 ? kLg2Error : kLg2Error * magnitude;
    case kTanh:
      return kTanhRelative * magnitude;
    case kEx2:
    case kDiv:
    case kDivFull:
      return 2 * ulp_of(exact);
  }
  return 0;
}

float approximate(ApproximateFunction function, float x, const ApproximationMode& mode) {
  const FloatMode flush = {.flush = mode.flush};
  const float a = operand(x, flush);
  const double exact = exact_value(function, a);
  auto value = static_cast<float>(exact);
  if (mode.approximation == Approximation::kPerturbed) {
    const float moved = chosen(exact, documented_error(function, a, exact),
                               share_of_error(bits_of(a), function, mode.seed));
    if (!is_of_one_sign(function) || moved * exact >= 0) value = moved;
  }
  return result(value, flush);
}

float approximate_quotient(ApproximateFunction function, float x, float y,
                           const ApproximationMode& mode) {
  const FloatMode flush = {.flush = mode.flush};
  const float accurate = function == kDiv ? accurate_div(x, y, flush) : div(x, y, flush);
  if (mode.approximation == Approximation::kAccurate || is_special(accurate)) return accurate;
  const double exact =
      static_cast<double>(operand(x, flush)) / static_cast<double>(operand(y, flush));
  const std::uint64_t operands = static_cast<std::uint64_t>(bits_of(x)) << 32 | bits_of(y);
  const float moved = chosen(exact, documented_error(function, x, exact),
                             share_of_error(operands, function, mode.seed));
  return result(moved * exact >= 0 ? moved : accurate, flush);
}

template <FloatFormat kFormat>
double documented_narrow_error(ApproximateFunction function, double exact) {
  constexpr bool kIsF16 = kFormat.exponent_bits == 5;
  if (function == kTanh) return kIsF16 ? kTanhAbsoluteF16 : kTanhAbsoluteBf16;
  return (kIsF16 ? kEx2RelativeF16 : kEx2RelativeBf16) * std::abs(exact);
}

template <FloatFormat kFormat>
std::uint32_t approximate_narrow(ApproximateFunction function, std::uint32_t code,
                                 const ApproximationMode& mode) {
  const FloatMode flush = {.flush = function == kEx2 && kFormat.exponent_bits == 8};
  const float a = operand<kFormat>(code, flush);
  const double exact = exact_value(function, a);
  const std::uint32_t accurate = result<kFormat>(exact, flush);
  if (mode.approximation == Approximation::kAccurate || is_special(exact)) return accurate;
  const double error = documented_narrow_error<kFormat>(function, exact);
  const std::uint32_t moved =
      result<kFormat>(exact + share_of_error(code, function, mode.seed) * error, flush);
  // Codes are ordered as their magnitudes are; one step back makes up for rounding.
  const std::uint32_t back = moved < accurate ? moved + 1 : moved > accurate ? moved - 1 : moved;
  for (const std::uint32_t candidate : {moved, back}) {
    const double number = widened<kFormat>(candidate);
    if (number * exact > 0 && std::abs(number - exact) <= error) return candidate;
  }
  return accurate;
}

double approximate_upper_half(ApproximateFunction function, double x) {
  constexpr std::uint64_t kUpper = 0xffffffff00000000;
  const auto flushed_half = [](std::uint64_t bits) {
    return double_of((bits & kInfinity64) != 0 ? bits & kUpper : bits & kSign64);
  };
  const double exact = exact_value(function, flushed_half(bits_of(x)));
  if (exact != exact) return double_of(0x7fffffff00000000);
  // To nearest; infinities have nothing to round.
  return flushed_half(bits_of(exact) + (std::isfinite(exact) ? 0x80000000 : 0));
}

template double documented_narrow_error<kF16>(ApproximateFunction, double);
template double documented_narrow_error<kBf16>(ApproximateFunction, double);
template std::uint32_t approximate_narrow<kF16>(ApproximateFunction, std::uint32_t,
                                                const ApproximationMode&);
template std::uint32_t approximate_narrow<kBf16>(ApproximateFunction, std::uint32_t,
                                                 const ApproximationMode&);

}  // namespace recto::ptx
