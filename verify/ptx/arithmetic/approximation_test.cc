#include "verify/ptx/arithmetic/approximation.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "bazel/testing/catch.h"
#include "core/random_stream.h"

namespace recto::ptx {
namespace {

using enum ApproximateFunction;

constexpr ApproximateFunction kUnary[] = {kRcp, kSqrt, kRsqrt, kSin, kCos, kLg2, kEx2, kTanh};

long double exact(ApproximateFunction function, long double x) {
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
      return std::exp2(x);
    default:
      return std::tanh(x);
  }
}

// Operands with a finite, non-zero result: of all exponents, or of those with interesting results.
float drawn(RandomStream& random, ApproximateFunction function) {
  const auto bits = static_cast<std::uint32_t>(random.next_u64());
  const bool takes_positive = function == kSqrt || function == kRsqrt || function == kLg2;
  const float any = float_of(takes_positive ? bits & 0x7fffffff : bits);
  if (random.next_below(2) == 0 && std::isfinite(any)) return any;
  const double range = function == kEx2 ? 150 : function == kTanh ? 4 : 7;
  const double x = range * random.next_unit();
  return static_cast<float>(takes_positive || (bits & 1) != 0 ? x : -x);
}

}  // namespace

TEST_CASE("accurate results are the correctly rounded ones") {
  for (const ApproximateFunction function : kUnary) {
    RandomStream random(1);
    int wrong = 0;
    for (int i = 0; i < 50000; ++i) {
      const float x = drawn(random, function);
      const long double truth = exact(function, x);
      const float result = approximate(function, x, {});
      // fp64 cannot decide cases that are half-way within its own error.
      const auto near = static_cast<float>(truth);
      const long double slack = std::abs(truth) * 0x1p-50L;
      const bool is_right = result == near || result == static_cast<float>(truth + slack) ||
                            result == static_cast<float>(truth - slack);
      wrong += !is_right;
    }
    INFO("function " << static_cast<int>(function));
    CHECK(wrong == 0);
  }
}

TEST_CASE("the inlined values are those of the functions") {
  RandomStream random(2);
  int wrong = 0;
  for (int i = 0; i < 50000; ++i) {
    const float x = drawn(random, kEx2);
    const float y = float_of(static_cast<std::uint32_t>(random.next_u64()));
    for (const bool flush : {false, true}) {
      const ApproximationMode mode = {.flush = flush};
      wrong += bits_of(accurate_ex2(x, {.flush = flush})) != bits_of(approximate(kEx2, x, mode));
      wrong +=
          bits_of(accurate_rsqrt(y, {.flush = flush})) != bits_of(approximate(kRsqrt, y, mode));
      wrong += bits_of(rcp(y, {.flush = flush})) != bits_of(approximate(kRcp, y, mode));
      wrong += bits_of(sqrt(y, {.flush = flush})) != bits_of(approximate(kSqrt, y, mode));
      wrong += bits_of(accurate_div(x, y, {.flush = flush})) !=
               bits_of(approximate_quotient(kDiv, x, y, mode));
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("2^x is near the library's over its whole range, and exact at integers") {
  RandomStream random(3);
  double worst = 0;
  for (int i = 0; i < 100000; ++i) {
    const double x = 300 * random.next_unit() - 150;
    const long double truth = std::exp2(static_cast<long double>(x));
    worst = std::max(worst, static_cast<double>(std::abs(exp2_of(x) - truth) / truth));
  }
  CHECK(worst < 0x1p-50);
  for (int n = -190; n <= 190; ++n) CHECK(exp2_of(n) == std::ldexp(1.0, n));
  CHECK(static_cast<float>(exp2_of(-1e30)) == 0);
  CHECK(static_cast<float>(exp2_of(1e30)) == INFINITY);
  CHECK(std::isnan(exp2_of(float_of(kNan32))));
}

TEST_CASE("tanh is near the library's over its whole range, and odd") {
  RandomStream random(6);
  double worst = 0;
  int not_odd = 0;
  for (int i = 0; i < 100000; ++i) {
    // Exponents from -100 to 6.
    const double x =
        std::ldexp(1 + random.next_unit(), static_cast<int>(random.next_below(106)) - 100);
    const long double truth = std::tanh(static_cast<long double>(x));
    worst = std::max(worst, static_cast<double>(std::abs(tanh_of(x) - truth) / truth));
    not_odd += tanh_of(-x) != -tanh_of(x);
  }
  CHECK(worst < 0x1p-50);
  CHECK(not_odd == 0);
  CHECK(tanh_of(1e300) == 1);
  CHECK(tanh_of(-1e300) == -1);
}

TEST_CASE("perturbed results stay within the documented error, use it, and depend on the seed") {
  for (const ApproximateFunction function : kUnary) {
    INFO("function " << static_cast<int>(function));
    RandomStream random(4);
    int outside = 0;
    int far = 0;
    int other = 0;
    int repeated = 0;
    for (int i = 0; i < 20000; ++i) {
      const float x = drawn(random, function);
      const ApproximationMode mode = {.approximation = Approximation::kPerturbed, .seed = 7};
      const auto truth = static_cast<double>(exact(function, x));
      const float result = approximate(function, x, mode);
      if (!std::isfinite(static_cast<float>(truth))) continue;
      const double error = documented_error(function, x, truth);
      const double distance = std::abs(result - static_cast<double>(truth));
      // Results that are subnormal have an absolute error of half their last bit, too.
      outside += distance > std::max(error * (1 + 0x1p-20), 0x1p-150);
      far += distance > error / 2;
      other += result !=
               approximate(function, x, {.approximation = Approximation::kPerturbed, .seed = 8});
      repeated += result == approximate(function, x, mode);
    }
    CHECK(outside == 0);
    CHECK(far > 1000);
    CHECK(other > 1000);
    CHECK(repeated > 5000);
  }
}

TEST_CASE("documented errors have the values of the ISA") {
  const auto log2_of_error = [](ApproximateFunction function, float x, double exact) {
    return std::log2(documented_error(function, x, exact));
  };
  CHECK(log2_of_error(kRcp, 1, 1.5) == -23);
  CHECK(log2_of_error(kEx2, 1, 1.5) == -22);
  CHECK(log2_of_error(kSqrt, 1, 4) == -21);
  CHECK(log2_of_error(kRsqrt, 1, 1) == Catch::Detail::Approx(-22.9).epsilon(1e-5));
  CHECK(log2_of_error(kSin, 6, 0.5) == Catch::Detail::Approx(-20.5).epsilon(1e-5));
  CHECK(log2_of_error(kCos, -7, 0.5) == Catch::Detail::Approx(-14.7).epsilon(1e-5));
  CHECK(log2_of_error(kLg2, 1, 0.5) == -22);
  CHECK(log2_of_error(kLg2, 16, 4) == -20);
  CHECK(log2_of_error(kTanh, 1, 0.5) == -12);
}

// The tables of the ISA.
TEST_CASE("special operands give the documented results, perturbed or not") {
  struct Row {
    ApproximateFunction function;
    float operand;
    float result;
  };
  const float subnormal = 1e-40F;
  const std::vector<Row> rows = {
      {kRcp, -INFINITY, -0.0F},   {kRcp, -0.0F, -INFINITY},
      {kRcp, 0.0F, INFINITY},     {kRcp, INFINITY, 0.0F},
      {kRcp, NAN, NAN},           {kSqrt, -INFINITY, NAN},
      {kSqrt, -1.0F, NAN},        {kSqrt, -0.0F, -0.0F},
      {kSqrt, 0.0F, 0.0F},        {kSqrt, INFINITY, INFINITY},
      {kSqrt, NAN, NAN},          {kRsqrt, -INFINITY, NAN},
      {kRsqrt, -1.0F, NAN},       {kRsqrt, -0.0F, -INFINITY},
      {kRsqrt, 0.0F, INFINITY},   {kRsqrt, INFINITY, 0.0F},
      {kRsqrt, NAN, NAN},         {kSin, -INFINITY, NAN},
      {kSin, -0.0F, -0.0F},       {kSin, 0.0F, 0.0F},
      {kSin, INFINITY, NAN},      {kSin, NAN, NAN},
      {kCos, -INFINITY, NAN},     {kCos, -0.0F, 1.0F},
      {kCos, 0.0F, 1.0F},         {kCos, INFINITY, NAN},
      {kCos, NAN, NAN},           {kLg2, -INFINITY, NAN},
      {kLg2, -1.0F, NAN},         {kLg2, -0.0F, -INFINITY},
      {kLg2, 0.0F, -INFINITY},    {kLg2, INFINITY, INFINITY},
      {kLg2, NAN, NAN},           {kEx2, -INFINITY, 0.0F},
      {kEx2, -0.0F, 1.0F},        {kEx2, 0.0F, 1.0F},
      {kEx2, INFINITY, INFINITY}, {kEx2, NAN, NAN},
      {kTanh, -INFINITY, -1.0F},  {kTanh, -0.0F, -0.0F},
      {kTanh, 0.0F, 0.0F},        {kTanh, INFINITY, 1.0F},
      {kTanh, NAN, NAN},
  };
  for (const Row& row : rows) {
    for (const auto approximation : {Approximation::kAccurate, Approximation::kPerturbed}) {
      INFO("function " << static_cast<int>(row.function) << " of " << row.operand);
      const float result =
          approximate(row.function, row.operand, {.approximation = approximation, .seed = 1});
      CHECK(bits_of(result) == bits_of(canonical(row.result)));
    }
  }
  CHECK(approximate(kTanh, subnormal, {}) == subnormal);
  CHECK(approximate(kRcp, subnormal, {}) == INFINITY);
  CHECK(approximate(kRcp, 0x1p127F, {}) == 0x1p-127F);
  CHECK(approximate(kRcp, 0x1p127F, {.flush = true}) == 0);
  CHECK(approximate(kLg2, subnormal, {.flush = true}) == -INFINITY);
  CHECK(approximate(kLg2, 0x1p-140F, {}) == -140);
  CHECK(bits_of(approximate(kSqrt, -subnormal, {.flush = true})) == 0x80000000);
  CHECK(approximate(kEx2, -140, {}) == 0x1p-140F);
  CHECK(approximate(kEx2, -140, {.flush = true}) == 0);
}

TEST_CASE("quotients by divisors beyond 2^126 are zero or NaN, except with .full") {
  CHECK(approximate_quotient(kDiv, 1, 0x1p126F, {}) == 0x1p-126F);
  CHECK(approximate_quotient(kDiv, 0x1p100F, 0x1.8p126F, {}) == 0);
  CHECK(bits_of(approximate_quotient(kDiv, -1, 0x1p127F, {})) == 0x80000000);
  CHECK(std::isnan(approximate_quotient(kDiv, INFINITY, 0x1p127F, {})));
  CHECK(approximate_quotient(kDivFull, 0x1p100F, 0x1p127F, {}) == 0x1p-27F);
  CHECK(approximate_quotient(kDivFull, INFINITY, 0x1p127F, {}) == INFINITY);
  RandomStream random(5);
  int outside = 0;
  int moved = 0;
  for (int i = 0; i < 20000; ++i) {
    const auto x = static_cast<float>(1 + 7 * random.next_unit());
    const auto y = static_cast<float>(1 + 7 * random.next_unit());
    const double truth = static_cast<double>(x) / y;
    for (const ApproximateFunction function : {kDiv, kDivFull}) {
      CHECK(approximate_quotient(function, x, y, {}) == x / y);
      const float result = approximate_quotient(
          function, x, y, {.approximation = Approximation::kPerturbed, .seed = 3});
      outside += std::abs(result - truth) > documented_error(function, x, truth);
      moved += result != x / y;
    }
  }
  CHECK(outside == 0);
  CHECK(moved > 10000);
}

TEST_CASE("ex2 and tanh of every 16-bit number are rounded once, or within their errors") {
  int wrong = 0;
  int outside = 0;
  int moved = 0;
  const auto check = [&]<FloatFormat kFormat>(std::uint32_t code) {
    for (const ApproximateFunction function : {kEx2, kTanh}) {
      const bool flush = function == kEx2 && kFormat.exponent_bits == 8;
      const float x = widened<kFormat>(flush ? flushed<kFormat>(code) : code);
      const auto truth = static_cast<double>(exact(function, x));
      const std::uint32_t rounded = narrowed<kFormat>(truth, {});
      const std::uint32_t expected = flush ? flushed<kFormat>(rounded) : rounded;
      wrong += approximate_narrow<kFormat>(function, code, {}) != expected;
      const std::uint32_t result = approximate_narrow<kFormat>(
          function, code, {.approximation = Approximation::kPerturbed, .seed = 1});
      moved += result != expected;
      const double number = widened<kFormat>(result);
      outside += result != expected &&
                 !(std::abs(number - truth) <= documented_narrow_error<kFormat>(function, truth));
    }
  };
  for (std::uint32_t code = 0; code < 0x10000; ++code) {
    check.operator()<kF16>(code);
    check.operator()<kBf16>(code);
  }
  CHECK(wrong == 0);
  CHECK(outside == 0);
  CHECK(moved > 10000);
}

TEST_CASE("gross fp64 approximations keep the upper half") {
  CHECK(approximate_upper_half(kRcp, 4) == 0.25);
  CHECK(std::abs(approximate_upper_half(kRcp, 3) - 1.0 / 3) < 0x1p-21);
  CHECK((bits_of(approximate_upper_half(kRsqrt, 3)) & 0xffffffff) == 0);
  CHECK(approximate_upper_half(kRcp, 0x1p-1060) == INFINITY);
  CHECK(approximate_upper_half(kRsqrt, -0x1p-1060) == -INFINITY);
  CHECK(bits_of(approximate_upper_half(kRcp, -INFINITY)) == kSign64);
  CHECK(bits_of(approximate_upper_half(kRsqrt, -1)) == 0x7fffffff00000000);
}

}  // namespace recto::ptx
