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

TEST_CASE("an empty histogram gives 0, and a negative value breaks the contract") {
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

GaugeValues used(std::int64_t slots) {
  GaugeValues values;
  values[Gauge::kUsed] = slots;
  return values;
}

GaugeSummary used_summary(const TimeWeighted& metrics) {
  return metrics.summaries()[static_cast<std::size_t>(Gauge::kUsed)];
}

std::vector<double> used_series(const TimeWeighted& metrics) {
  std::vector<double> means;
  for (const SeriesWindow& window : metrics.series()) {
    means.push_back(window.mean[static_cast<std::size_t>(Gauge::kUsed)]);
  }
  return means;
}

TEST_CASE("a mean weighs each value with the time that it held") {
  TimeWeighted metrics;
  metrics.open(SimTime(0));
  metrics.set(used(10));
  metrics.advance(SimTime(30));
  metrics.set(used(40));
  metrics.advance(SimTime(40));
  metrics.close(SimTime(40));
  metrics.finish();
  CHECK(used_summary(metrics).mean == (10.0 * 30 + 40.0 * 10) / 40);
  CHECK(used_summary(metrics).p50 == 10);
  CHECK(used_summary(metrics).p90 == 40);
  CHECK(used_summary(metrics).max == 40);
  CHECK(metrics.covered() == SimDuration(40));
}

TEST_CASE("values before the window opens and after it closes do not count") {
  TimeWeighted metrics;
  metrics.set(used(1000));
  metrics.advance(SimTime(10));
  metrics.open(SimTime(10));
  metrics.set(used(2));
  metrics.advance(SimTime(20));
  metrics.close(SimTime(20));
  metrics.set(used(500));
  metrics.advance(SimTime(90));
  metrics.finish();
  CHECK(used_summary(metrics).mean == 2);
  CHECK(used_summary(metrics).max == 2);
  CHECK(metrics.covered() == SimDuration(10));
  CHECK_FALSE(metrics.covers_drain());
}

TEST_CASE("an empty window is replaced by all the time since it opened") {
  TimeWeighted metrics;
  metrics.open(SimTime(5));
  metrics.close(SimTime(5));
  metrics.set(used(8));
  metrics.advance(SimTime(25));
  metrics.finish();
  CHECK(metrics.covers_drain());
  CHECK(metrics.covered() == SimDuration(20));
  CHECK(used_summary(metrics).mean == 8);
}

TEST_CASE("a value that is replaced within an instant leaves no trace") {
  TimeWeighted metrics;
  metrics.open(SimTime(0));
  metrics.set(used(999));
  metrics.set(used(1));
  metrics.advance(SimTime(10));
  metrics.finish();
  CHECK(used_summary(metrics).max == 1);
  CHECK(used_summary(metrics).mean == 1);
}

TEST_CASE("a series has a mean per window, the last one over a partial window") {
  TimeWeighted metrics({.series_window = SimDuration(10), .series_windows_max = 100});
  metrics.set(used(4));
  metrics.advance(SimTime(15));
  metrics.set(used(8));
  metrics.advance(SimTime(25));
  metrics.finish();
  CHECK(used_series(metrics) == std::vector<double>{4, 6, 8});
  CHECK(metrics.series()[1].begin == SimTime(10));
  CHECK(metrics.series()[1].length == SimDuration(10));
  CHECK(metrics.series()[2].length == SimDuration(5));
}

TEST_CASE("a series beyond its limit is halved, and keeps its integral") {
  property("for any steps, window and limit", [](Draw& draw) {
    const auto window = draw.growing(1, 19);
    const auto windows_max = draw.growing(2, 8);
    TimeWeighted metrics({.series_window = SimDuration(window), .series_windows_max = windows_max});
    std::vector<std::int64_t> value_at;  // [nanosecond]
    const auto steps = draw.list([](Draw& step) {
      const std::int64_t length = step.growing(0, 59);
      return std::pair(length, step.growing(0, 8));
    });
    for (const auto& [length, value] : steps) {
      metrics.set(used(value));
      value_at.insert(value_at.end(), static_cast<std::size_t>(length), value);
      metrics.advance(SimTime(static_cast<std::int64_t>(value_at.size())));
    }
    metrics.finish();
    const std::vector<SeriesWindow> series = metrics.series();
    RECTO_REQUIRE(static_cast<std::int64_t>(series.size()) <= windows_max);
    std::int64_t at = 0;
    for (const SeriesWindow& one : series) {
      RECTO_REQUIRE(one.begin == SimTime(at));
      double sum = 0;
      for (std::int64_t i = 0; i < one.length.value(); ++i) {
        sum += static_cast<double>(value_at[static_cast<std::size_t>(at++)]);
      }
      const double mean = one.mean[static_cast<std::size_t>(Gauge::kUsed)];
      RECTO_REQUIRE(std::abs(mean - sum / static_cast<double>(one.length.value())) < 1e-9);
    }
    RECTO_REQUIRE(at == static_cast<std::int64_t>(value_at.size()));
  });
}

TEST_CASE("time does not run backwards") {
  TimeWeighted metrics;
  metrics.advance(SimTime(10));
  CHECK_THROWS_AS(metrics.advance(SimTime(9)), ContractFailure);
}

}  // namespace
}  // namespace recto::sim
