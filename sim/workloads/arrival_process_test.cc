#include "sim/workloads/arrival_process.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <set>
#include <vector>

#include "bazel/testing/catch.h"
#include "core/contract.h"
#include "sim/workloads/sampling_checks.h"

namespace recto::sim {
namespace {

constexpr std::size_t kSamples = 100'000;

std::unique_ptr<ArrivalProcess> process(const char* text, std::uint64_t seed = 2026) {
  return make_arrival_process(parse_arrivals(text).value(), RandomStream(seed));
}

SimTime next_time(ArrivalProcess& arrivals) { return arrivals.next().value()->time; }

// Gaps in seconds.
std::vector<double> gaps_of(const char* text, std::size_t count = kSamples) {
  const auto arrivals = process(text);
  std::vector<double> gaps;
  for (SimTime before; gaps.size() < count;) {
    const SimTime time = next_time(*arrivals);
    REQUIRE(time >= before);
    gaps.push_back(seconds(time - before));
    before = time;
  }
  return gaps;
}

void check_mean_and_cv(const std::vector<double>& gaps, double mean, double cv) {
  const testing::Moments moments = testing::moments_of(gaps);
  CHECK(std::abs(moments.mean - mean) < moments.mean_bound);
  CHECK(std::abs(moments.variance - mean * mean * cv * cv) < moments.variance_bound);
}

TEST_CASE("Poisson gaps are exponential with the given rate") {
  const std::vector<double> gaps = gaps_of("poisson:2");
  check_mean_and_cv(gaps, 0.5, 1);
  CHECK(testing::ks_distance(gaps, [](double x) { return 1 - std::exp(-2 * x); }) <
        testing::ks_bound(gaps.size()));
}

TEST_CASE("gamma gaps have the given rate and coefficient of variation") {
  check_mean_and_cv(gaps_of("gamma:rate=2,cv=3"), 0.5, 3);
  check_mean_and_cv(gaps_of("gamma:rate=2,cv=1"), 0.5, 1);
  check_mean_and_cv(gaps_of("gamma:rate=10,cv=0.2"), 0.1, 0.2);
}

TEST_CASE("constant gaps are all the same number of nanoseconds") {
  for (const double gap : gaps_of("constant:4", 1000)) REQUIRE(gap == 0.25);
}

TEST_CASE("on/off arrivals come at the given rate while on and fill the given share of time") {
  // Gaps across an off period are longer than all but e^-30 of the gaps within an on period.
  constexpr double kWithin = 0.3;
  const std::vector<double> gaps = gaps_of("onoff:rate=100,on_s=5,off_s=20");
  double within = 0, within_count = 0, silent = 0, silent_count = 0;
  for (const double gap : gaps) {
    (gap < kWithin ? within : silent) += gap;
    (gap < kWithin ? within_count : silent_count) += 1;
  }
  // The mean gap within a burst is 10 ms. Ends of bursts: every on period of mean 5 s ends once;
  // visible are silences longer than kWithin, a fraction exp(-0.3 / 20) of all.
  CHECK(within / within_count == Catch::Approx(0.01).epsilon(0.05));
  const double bursts = silent_count / std::exp(-kWithin / 20);
  const double slack = testing::kDeviations / std::sqrt(bursts);
  CHECK(within / bursts == Catch::Approx(5).epsilon(slack));
  CHECK(silent / silent_count == Catch::Approx(20).epsilon(slack));
  // At a duty cycle of 20 %, the mean rate is a fifth of the rate while on.
  CHECK(static_cast<double>(gaps.size()) / (within + silent) ==
        Catch::Approx(20).epsilon(1.5 * slack));
}

TEST_CASE("the first arrival of an on/off process is on as often as any other moment") {
  // P(first gap > t) is mostly P(off at time zero) for t of a few ms.
  constexpr int kSeeds = 20'000;
  int waits = 0;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    waits += seconds(next_time(*process("onoff:rate=10000,on_s=5,off_s=20", seed))) > 0.002;
  }
  CHECK(double{1} * waits / kSeeds == Catch::Approx(0.8).margin(0.02));
}

TEST_CASE("an open loop never ends, has no clients and takes no notice of answers") {
  const auto arrivals = process("poisson:2");
  const auto undisturbed = process("poisson:2");
  for (int i = 0; i < 100; ++i) {
    const Result<std::optional<Arrival>> arrival = arrivals->next();
    REQUIRE(arrival.value().has_value());
    REQUIRE_FALSE(arrival.value()->client.has_value());
    REQUIRE(arrival.value()->time == next_time(*undisturbed));
    arrivals->finish(i, SimTime(1));
  }
}

TEST_CASE("a closed loop never has more requests open than clients, one for each") {
  const auto arrivals = process("closed:clients=5,think_s=1");
  RandomStream service(1);
  std::deque<std::pair<std::int64_t, std::int64_t>> open;  // request, client
  std::int64_t request = 0;
  SimTime latest_arrival;
  SimTime now;
  for (int step = 0; step < 10'000; ++step) {
    std::optional<Arrival> arrival = arrivals->next().value();
    if (arrival) {
      REQUIRE(arrival->time >= latest_arrival);
      latest_arrival = arrival->time;
      now = std::max(now, latest_arrival);
      for (const auto& [id, client] : open) REQUIRE(client != *arrival->client);
      open.emplace_back(request++, *arrival->client);
      REQUIRE(open.size() <= 5);
    }
    if (!arrival || service.next_below(2) == 0) {
      now += SimDuration(static_cast<std::int64_t>(service.next_below(1'000'000'000)));
      arrivals->finish(open.front().first, now);
      open.pop_front();
    }
  }
}

TEST_CASE("all clients of a closed loop wait until one is answered, then it thinks") {
  const auto arrivals = process("closed:clients=2");
  CHECK(next_time(*arrivals) == SimTime(0));
  CHECK(next_time(*arrivals) == SimTime(0));
  CHECK_FALSE(arrivals->next().value().has_value());
  arrivals->finish(1, SimTime(70));
  const std::optional<Arrival> arrival = arrivals->next().value();
  CHECK(arrival->time == SimTime(70));
  CHECK(arrival->client == 1);
  CHECK_FALSE(arrivals->next().value().has_value());
}

TEST_CASE("think times are exponential with the given mean") {
  const auto arrivals = process("closed:clients=1,think_s=3");
  std::vector<double> thoughts;
  SimTime answered;
  for (std::int64_t request = 0; request < static_cast<std::int64_t>(kSamples); ++request) {
    const SimTime arrival = next_time(*arrivals);
    thoughts.push_back(seconds(arrival - answered));
    answered = arrival + SimDuration(1000);
    arrivals->finish(request, answered);
  }
  check_mean_and_cv(thoughts, 3, 1);
}

TEST_CASE("answering a request twice, or one that never came, is a broken contract") {
  const auto arrivals = process("closed:clients=2");
  CHECK_THROWS_AS(arrivals->finish(0, SimTime(1)), ContractFailure);
  next_time(*arrivals);
  arrivals->finish(0, SimTime(1));
  CHECK_THROWS_AS(arrivals->finish(0, SimTime(1)), ContractFailure);
}

TEST_CASE("time that would overflow is an error, not a wrap") {
  const auto arrivals = process("constant:0.000001");
  Status status;
  for (int i = 0; i < 10'000 && status.is_ok(); ++i) status = arrivals->next().status();
  CHECK_THAT(status.message(), Catch::Matchers::ContainsSubstring("292 years"));
}

TEST_CASE("golden hashes: the first 10,000 arrivals are these on every machine") {
  const auto hash = [](const char* text) {
    const auto arrivals = process(text);
    testing::GoldenHash golden;
    for (std::int64_t request = 0; request < 10'000; ++request) {
      const SimTime time = next_time(*arrivals);
      golden.add(time.value());
      arrivals->finish(request, time + SimDuration(1'000'000));
    }
    return golden.value();
  };
  CHECK(hash("poisson:2") == 0x80314916642137c3u);
  CHECK(hash("gamma:rate=2,cv=3") == 0xb9986309c9b7bd0du);
  CHECK(hash("onoff:rate=10,on_s=5,off_s=20") == 0x7ee081ab78130c31u);
  CHECK(hash("constant:3") == 0xc5a3ca34efb63515u);
  CHECK(hash("closed:clients=32,think_s=1") == 0x6182db0bc712bda0u);
}

}  // namespace
}  // namespace recto::sim
