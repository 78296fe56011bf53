#include "reference/accumulation.h"

#include <cmath>
#include <vector>

#include "bazel/testing/catch.h"
#include "core/contract.h"
#include "core/random_stream.h"
#include "reference/truncated_sum.h"

namespace recto::reference {
namespace {

constexpr double kUnit = 0x1p-24;

TEST_CASE("the depth of a sum is its longest chain of additions") {
  CHECK(depth({}, 100) == 100);
  CHECK(depth({.lanes = 32}, 100) == 4 + 5);
  CHECK(depth({.lanes = 32}, 96) == 3 + 5);
  CHECK(depth({.lanes = 3}, 9) == 3 + 2);  // a tree over three has two levels
  CHECK(depth({.terms_per_step = 16}, 17) == 32);
  CHECK(depth({}, 0) == 0);
}

TEST_CASE("one rounding is one unit, and roundings compound") {
  CHECK(compound(kUnit, 1) == Approx(kUnit).epsilon(1e-12));
  CHECK(compound(0.5, 2) == Approx(1.25));
  CHECK(compound(kUnit, 0) == 0);
}

TEST_CASE("a sum to nearest has no bias, and its deviation grows with the root of its depth") {
  const SumError hundred = sum_error({}, 100, 1, 0);
  const SumError ten_thousand = sum_error({}, 10000, 1, 0);
  CHECK(hundred.bias == 0);
  CHECK(ten_thousand.deviation == Approx(10 * hundred.deviation));
  CHECK(ten_thousand.worst_case == Approx(100 * hundred.worst_case).epsilon(1e-3));
  // Equal terms are the worst case.
  CHECK(sum_error({}, 100, 100, 0).deviation == Approx(hundred.worst_case).epsilon(1e-4));
}

TEST_CASE("a coherence below one is refused") {
  CHECK_NOTHROW(sum_error({}, 10, 1.0, 0));
  CHECK_THROWS_AS(sum_error({}, 10, 0.99, 0), ContractFailure);
}

// Sixteen terms in four steps of four: each step truncates six numbers, at two roundoffs each.
TEST_CASE("the bounds of a truncating sum are those worked out by hand") {
  const Accumulation sum{.terms_per_step = 4, .rounding = AccumulatorRounding::kTruncate};
  const SumError error = sum_error(sum, 16, 6, 0);
  CHECK(error.worst_case == Approx(4 * 6 * 2 * kUnit).epsilon(1e-4));
  CHECK(error.bias == Approx(24 * kUnit).epsilon(1e-4));
  CHECK(error.deviation == Approx(12 * kUnit));  // the root of 4 * 6, times 6 equal terms
  // Bias: 4 truncations of terms, 8 of steps; then the deviation. All relative to a quarter of the
  // magnitudes.
  const SummedTerms small{.magnitudes = 8, .partial_sums = 2, .net_terms = 4};
  CHECK(probabilistic_sum_error(sum, 16, error, small, 1) == Approx((4 + 8 + 12) * kUnit / 4));
  // The bound never exceeds the one without that knowledge.
  const SummedTerms large{.magnitudes = 8, .partial_sums = 8, .net_terms = 1000};
  CHECK(probabilistic_sum_error(sum, 16, error, large, 1) ==
        Approx((24 + 12) * kUnit).epsilon(1e-4));
}

// Sums random terms step by step, and returns the largest error over the sum of magnitudes.
double worst_truncation(std::int64_t terms_per_step, std::int64_t terms, int trials) {
  RandomStream stream(7);
  double worst = 0;
  for (int trial = 0; trial < trials; ++trial) {
    float sum = 0.0F;
    double exact = 0;
    double magnitudes = 0;
    std::vector<double> step;
    for (std::int64_t term = 0; term < terms; ++term) {
      step.push_back(static_cast<float>(stream.next_unit()));  // one sign: nothing cancels
      exact += step.back();
      magnitudes += std::abs(step.back());
      if (std::ssize(step) == terms_per_step || term + 1 == terms) {
        sum = truncated_sum(sum, step);
        step.clear();
      }
    }
    worst = std::max(worst, std::abs(sum - exact) / magnitudes);
  }
  return worst;
}

TEST_CASE("truncation stays within its bounds and would exceed those of rounding to nearest") {
  constexpr std::int64_t kTerms = 4096;
  for (const std::int64_t terms_per_step : {4, 8, 16}) {
    const Accumulation truncating{.terms_per_step = terms_per_step,
                                  .rounding = AccumulatorRounding::kTruncate};
    const SumError allowed = sum_error(truncating, kTerms, 1, 0);
    const double seen = worst_truncation(terms_per_step, kTerms, 200);
    CHECK(seen <= allowed.bias + 4 * allowed.deviation);
    CHECK(allowed.bias + 4 * allowed.deviation <= allowed.worst_case);
    CHECK(seen > 4 * sum_error({}, kTerms, 1, 0).deviation);
  }
}

}  // namespace
}  // namespace recto::reference
