#include "sim/traces/trace_summary.h"

#include <cmath>

#include "bazel/testing/catch.h"
#include "core/contract.h"
#include "core/random_stream.h"

namespace recto::sim {
namespace {

ArrivalFigures figures_of(std::initializer_list<double> arrivals_s) {
  ArrivalStatistics statistics;
  for (const double s : arrivals_s) {
    statistics.add(SimTime(static_cast<std::int64_t>(std::llround(s * 1e9))));
  }
  return statistics.figures();
}

TEST_CASE("rates and peaks of a small example") {
  const ArrivalFigures figures = figures_of({10, 10.5, 10.9, 11, 12.5, 75});
  CHECK(figures.duration == SimDuration(65'000'000'000));
  CHECK(figures.mean_per_second.value() == Catch::Approx(5.0 / 65));
  CHECK(figures.peak_per_second == 3);
  CHECK(figures.peak_per_minute == 5);
}

TEST_CASE("even gaps do not vary, Poisson gaps vary by 1") {
  CHECK(figures_of({0, 1, 2, 3}).gap_variation.value() == 0.0);
  CHECK(figures_of({0, 1, 4}).gap_variation.value() == Catch::Approx(0.5));
  RandomStream random(3);
  ArrivalStatistics statistics;
  double s = 0;
  for (int i = 0; i < 100'000; ++i) {
    s -= std::log(1 - random.next_unit());
    statistics.add(SimTime(static_cast<std::int64_t>(s * 1e9)));
  }
  CHECK(statistics.figures().gap_variation.value() == Catch::Approx(1).margin(0.02));
}

TEST_CASE("without a gap there is no rate") {
  for (const auto& figures : {figures_of({}), figures_of({5}), figures_of({5, 5})}) {
    CHECK_FALSE(figures.mean_per_second.has_value());
    CHECK_FALSE(figures.gap_variation.has_value());
    CHECK(figures.duration == SimDuration(0));
  }
  CHECK(figures_of({5, 5}).peak_per_second == 2);
}

TEST_CASE("arrivals out of order are a defect of the caller") {
  CHECK_THROWS_AS(figures_of({5, 4}), ContractFailure);
}

}  // namespace
}  // namespace recto::sim
