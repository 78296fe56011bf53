#include "reference/fp32_arithmetic.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "bazel/testing/catch.h"
#include "core/random_stream.h"

namespace recto::reference {
namespace {

constexpr Fp32Arithmetic kLibrary;
constexpr Fp32Arithmetic kFast{.functions = MathFunctions::kFast};
constexpr Fp32Arithmetic kFastInBase2{.base = ExponentialBase::kTwo,
                                      .functions = MathFunctions::kFast};

// The distance between neighbouring fp32 numbers near `value`.
double ulp_at(double value) { return std::ldexp(1.0, std::max(std::ilogb(value), -126) - 23); }

// Checks errors over many arguments, as shares of the allowed error: some are below -0.7, some
// above 0.7, none is beyond 1. So the errors are as large as documented and have both signs.
template <typename Function, typename Exact, typename Allowed>
void expect_documented_errors(float low, float high, const Function& function, const Exact& exact,
                              const Allowed& allowed) {
  RandomStream stream(11);
  double most = 0;
  double least = 0;
  for (int trial = 0; trial < 20'000; ++trial) {
    const auto x = static_cast<float>(low + (high - low) * stream.next_unit());
    const double right = exact(static_cast<double>(x));
    const double share = (static_cast<double>(function(x)) - right) / allowed(x, right);
    most = std::max(most, share);
    least = std::min(least, share);
  }
  CHECK(most <= 1);
  CHECK(most > 0.9);
  CHECK(least >= -1);
  CHECK(least < -0.9);
}

TEST_CASE("fast functions err in both directions, up to their documented errors and no further") {
  const auto ulps = [](double count) {
    return [count](double, double right) { return count * ulp_at(right); };
  };
  const auto absolute = [](double error) { return [error](double, double) { return error; }; };
  expect_documented_errors(
      -87.0F, 20.0F, [](float x) { return kFast.exp(x); }, [](double x) { return std::exp(x); },
      [](double x, double right) { return (2 + std::floor(1.173 * std::abs(x))) * ulp_at(right); });
  expect_documented_errors(
      -125.0F, 20.0F, [](float x) { return kFastInBase2.power(x); },
      [](double x) { return std::exp2(x); }, ulps(2));
  expect_documented_errors(
      0.5F, 2.0F, [](float x) { return kFast.log(x); }, [](double x) { return std::log(x); },
      absolute(std::exp2(-21.41)));
  expect_documented_errors(
      1e-6F, 0.499F, [](float x) { return kFast.log(x); }, [](double x) { return std::log(x); },
      ulps(3));
  expect_documented_errors(
      2.01F, 1e6F, [](float x) { return kFast.log(x); }, [](double x) { return std::log(x); },
      ulps(3));
  expect_documented_errors(
      0.5F, 2.0F, [](float x) { return kFastInBase2.logarithm(x); },
      [](double x) { return std::log2(x); }, absolute(0x1p-22));
  expect_documented_errors(
      1e-6F, 0.499F, [](float x) { return kFastInBase2.logarithm(x); },
      [](double x) { return std::log2(x); }, ulps(2));
  expect_documented_errors(
      2.01F, 1e6F, [](float x) { return kFastInBase2.logarithm(x); },
      [](double x) { return std::log2(x); }, ulps(2));
  expect_documented_errors(
      -6.0F, 6.0F, [](float x) { return kFast.tanh(x); }, [](double x) { return std::tanh(x); },
      [](double, double right) { return 0x1p-11 * std::abs(right); });
}

TEST_CASE("equal arguments give equal results, and exp of 0 is 1") {
  for (const Fp32Arithmetic& arithmetic : {kLibrary, kFast, kFastInBase2}) {
    CHECK(arithmetic.exp(0.0F) == 1.0F);
    CHECK(arithmetic.power(0.0F) == 1.0F);
    CHECK(arithmetic.power(-0.0F) == 1.0F);
    CHECK(arithmetic.exp(-0.3F) == arithmetic.exp(-0.3F));
    CHECK(arithmetic.exp(-INFINITY) == 0.0F);
    CHECK(arithmetic.power(-INFINITY) == 0.0F);
    CHECK(arithmetic.tanh(0.0F) == 0.0F);
  }
}

TEST_CASE("flushed numbers are zeros of their sign, others as they were") {
  const Fp32Arithmetic flushing{.subnormals = Subnormals::kFlushed};
  const float below = std::nextafter(0x1p-126F, 0.0F);
  CHECK(kLibrary.flushed(below) == below);
  CHECK(flushing.flushed(0x1p-126F) == 0x1p-126F);
  CHECK(flushing.flushed(-0x1p-126F) == -0x1p-126F);
  CHECK(std::bit_cast<std::uint32_t>(flushing.flushed(below)) == 0);
  CHECK(std::bit_cast<std::uint32_t>(flushing.flushed(-below)) == std::uint32_t{1} << 31);
  CHECK(std::isnan(flushing.flushed(NAN)));
  CHECK(flushing.flushed(-INFINITY) == -INFINITY);
}

TEST_CASE("exponentials below the normal numbers are kept or flushed, fast ones flushed") {
  const Fp32Arithmetic flushing{.subnormals = Subnormals::kFlushed};
  CHECK(kLibrary.exp(-88.0F) > 0.0F);
  CHECK(flushing.exp(-88.0F) == 0.0F);
  CHECK(flushing.exp(-87.0F) == kLibrary.exp(-87.0F));
  CHECK(kFast.exp(-88.0F) == 0.0F);
  CHECK(kFastInBase2.power(-127.0F) == 0.0F);
  CHECK(kFastInBase2.power(-124.0F) > 0.0F);
}

}  // namespace
}  // namespace recto::reference
