#include "sim/workloads/portable_math.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "bazel/testing/catch.h"
#include "core/random_stream.h"
#include "sim/workloads/sampling_checks.h"

namespace recto::sim {
namespace {

constexpr int kSamples = 100'000;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Distance from a more precise value in units of its last place as a double.
double error_ulp(double value, long double exact) {
  constexpr int kSmallestExponent = -1074;
  int exponent = 0;
  std::frexp(static_cast<double>(exact), &exponent);
  const long double ulp = std::ldexp(1.0L, std::max(exponent - 53, kSmallestExponent));
  return static_cast<double>(std::fabs(value - exact) / ulp);
}

// Uniform in [low, high).
double uniform(RandomStream& stream, double low, double high) {
  return low + stream.next_unit() * (high - low);
}

// A positive finite double of any magnitude, subnormals included.
double any_positive(RandomStream& stream) {
  for (;;) {
    const double x = std::bit_cast<double>(stream.next_u64() >> 1);
    if (x > 0 && x < kInfinity) return x;
  }
}

// Small numbers, with magnitudes spread over 60 binades.
double near_zero(RandomStream& stream) {
  return std::ldexp(uniform(stream, -0.9, 0.9), -static_cast<int>(stream.next_below(60)));
}

TEST_CASE("log is within 1 ulp of the long double logarithm") {
  RandomStream stream(1);
  double worst = 0;
  for (int i = 0; i < kSamples; ++i) {
    for (const double x : {any_positive(stream), uniform(stream, 0.5, 2), 1 + near_zero(stream)}) {
      worst = std::max(worst, error_ulp(portable_log(x), std::log(static_cast<long double>(x))));
    }
  }
  CHECK(worst <= 1);
}

TEST_CASE("exp is within 1 ulp of the long double exponential") {
  RandomStream stream(2);
  double worst = 0;
  for (int i = 0; i < kSamples; ++i) {
    for (const double x :
         {uniform(stream, -745, 709.7), uniform(stream, -2, 2), near_zero(stream)}) {
      worst = std::max(worst, error_ulp(portable_exp(x), std::exp(static_cast<long double>(x))));
    }
  }
  CHECK(worst <= 1);
}

TEST_CASE("log1p and expm1 keep their accuracy near zero") {
  RandomStream stream(3);
  double worst_log1p = 0;
  double worst_expm1 = 0;
  for (int i = 0; i < kSamples; ++i) {
    for (const double x : {near_zero(stream), uniform(stream, -0.99, 30)}) {
      const auto wide = static_cast<long double>(x);
      worst_log1p = std::max(worst_log1p, error_ulp(portable_log1p(x), std::log1p(wide)));
      worst_expm1 = std::max(worst_expm1, error_ulp(portable_expm1(x), std::expm1(wide)));
    }
  }
  CHECK(worst_log1p <= 3);
  CHECK(worst_expm1 <= 5);
}

TEST_CASE("pow is within 2 + 3 |y log x| ulp") {
  RandomStream stream(4);
  double worst = 0;
  for (int i = 0; i < kSamples; ++i) {
    const double x = uniform(stream, 0.01, 100);
    const double y = uniform(stream, -20, 20);
    const double error = error_ulp(portable_pow(x, y), std::pow(static_cast<long double>(x), y));
    worst = std::max(worst, error / (2 + 3 * std::abs(y * std::log(x))));
  }
  CHECK(worst <= 1);
}

TEST_CASE("special values follow annex F") {
  CHECK(portable_log(0) == -kInfinity);
  CHECK(portable_log(1) == 0);
  CHECK(portable_log(kInfinity) == kInfinity);
  CHECK(std::isnan(portable_log(-1)));
  CHECK(std::isnan(portable_log(std::nan(""))));
  CHECK(portable_log1p(-1) == -kInfinity);
  CHECK(portable_log1p(0) == 0);
  CHECK(portable_log1p(kInfinity) == kInfinity);
  CHECK(std::isnan(portable_log1p(-2)));
  CHECK(portable_exp(0) == 1);
  CHECK(portable_exp(-kInfinity) == 0);
  CHECK(portable_exp(kInfinity) == kInfinity);
  CHECK(portable_exp(710) == kInfinity);
  CHECK(portable_exp(-746) == 0);
  CHECK(portable_exp(-745) == std::numeric_limits<double>::denorm_min());
  CHECK(std::isnan(portable_exp(std::nan(""))));
  CHECK(portable_expm1(0) == 0);
  CHECK(portable_expm1(-100) == -1);
  CHECK(portable_expm1(kInfinity) == kInfinity);
  CHECK(portable_pow(0, 0) == 1);
  CHECK(portable_pow(0, 2) == 0);
  CHECK(portable_pow(0, -2) == kInfinity);
  CHECK(portable_pow(1, kInfinity) == 1);
}

TEST_CASE("golden bits: results are these on every machine") {
  CHECK(std::bit_cast<std::uint64_t>(portable_log(10)) == 0x40026bb1bbb55516u);
  CHECK(std::bit_cast<std::uint64_t>(portable_exp(1)) == 0x4005bf0a8b14576au);
  CHECK(std::bit_cast<std::uint64_t>(portable_log1p(1e-5)) == 0x3ee4f8aea9ae7316u);
  CHECK(std::bit_cast<std::uint64_t>(portable_expm1(1e-5)) == 0x3ee4f8bc681cdfb6u);
  CHECK(std::bit_cast<std::uint64_t>(portable_pow(10, 0.3)) == 0x3fffec982d5bb8b0u);

  constexpr int kGoldenInputs = 10'000;
  RandomStream stream(5);
  testing::GoldenHash hash;
  for (int i = 0; i < kGoldenInputs; ++i) {
    const double small = near_zero(stream);
    hash.add(portable_log(any_positive(stream)));
    hash.add(portable_exp(uniform(stream, -745, 709)));
    hash.add(portable_log1p(small));
    hash.add(portable_expm1(small));
  }
  CHECK(hash.value() == 0x243b0b65a44db612u);
}

}  // namespace
}  // namespace recto::sim
