#include "sim/metrics/time_weighted.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "bazel/testing/property.h"

namespace recto::sim {
namespace {

constexpr double kStatedError = 0.004;

// Nearest rank over the sorted list, each value repeated by its weight.
std::int64_t exact_percentile(std::vector<std::pair<std::int64_t, std::int64_t>> weighted,
                              std::int64_t per_mille) {
  std::sort(weighted.begin(), weighted.end());
  std::int64_t total = 0;
  for (const auto& [value, weight] : weighted) total += weight;
  std::int64_t seen = 0;
  for (const auto& [value, weight] : weighted) {
    seen += weight;
    if (seen * 1000 >= total * per_mille) return value;
  }
  return weighted.back().first;
}

TEST_CASE("percentiles are those of the sorted values, within the stated error") {
  property("for values of any size and weight", [](Draw& draw) {
    std::vector<std::pair<std::int64_t, std::int64_t>> weighted;
    Histogram histogram;
    const std::int64_t count = draw.growing(1, 199);
    for (std::int64_t i = 0; i < count; ++i) {
      const auto digits = draw.growing<int>(1, 61);
      const auto value = draw.uniform(0, (std::int64_t{1} << digits) - 1);
      const auto weight = draw.growing(1, 999);
      weighted.emplace_back(value, weight);
      histogram.add(value, weight);
    }
    for (const std::int64_t per_mille : {0, 1, 250, 500, 900, 990, 999, 1000}) {
      const auto exact = static_cast<double>(exact_percentile(weighted, per_mille));
      const auto found = static_cast<double>(histogram.percentile(per_mille));
      RECTO_REQUIRE(std::abs(found - exact) <= kStatedError * exact);
    }
  });
}

TEST_CASE("small values are exact") {
  for (std::int64_t value = 0; value < 256; ++value) {
    Histogram histogram;
    histogram.add(value);
    CHECK(histogram.percentile(500) == value);
  }
}

TEST_CASE("the largest value that there is has a bucket") {
  Histogram histogram;
  histogram.add(std::numeric_limits<std::int64_t>::max());
  const auto found = static_cast<double>(histogram.percentile(500));
  CHECK(found == Catch::Approx(0x1p63).epsilon(kStatedError));
}

TEST_CASE("the median of an even number of values is the lower one") {
  Histogram histogram;
  for (const std::int64_t value : {10, 20, 30, 40}) histogram.add(value);
  CHECK(histogram.percentile(500) == 20);
  CHECK(histogram.percentile(501) == 30);
}

TEST_CASE("an empty histogram says 0, and a negative value breaks the contract") {
  Histogram histogram;
  CHECK(histogram.percentile(990) == 0);
  CHECK_THROWS_AS(histogram.add(-1), ContractFailure);
}

TEST_CASE("weights beyond 2^63 thousandths do not overflow") {
  Histogram histogram;
  histogram.add(1, std::int64_t{1} << 61);
  histogram.add(2, std::int64_t{1} << 61);
  CHECK(histogram.percentile(500) == 1);
  CHECK(histogram.percentile(990) == 2);
}

TEST_CASE("merged histograms are the histogram of all values") {
  Histogram left;
  Histogram right;
  Histogram both;
  for (std::int64_t value = 0; value < 5000; value += 7) {
    (value % 2 == 0 ? left : right).add(value, value);
    both.add(value, value);
  }
  left.merge(right);
  CHECK(left.total_weight() == both.total_weight());
  for (std::int64_t per_mille = 0; per_mille <= 1000; per_mille += 50) {
    CHECK(left.percentile(per_mille) == both.percentile(per_mille));
  }
}

}  // namespace
}  // namespace recto::sim
