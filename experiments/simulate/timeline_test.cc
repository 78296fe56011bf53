#include "experiments/simulate/timeline.h"

#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "bazel/testing/catch.h"
#include "core/json.h"
#include "core/units.h"
#include "experiments/support/output_file.h"
#include "experiments/support/run.h"
#include "experiments/support/run_config.h"

namespace recto::experiments {
namespace {

std::string timeline_path() {
  const char* folder = std::getenv("TEST_TMPDIR");
  return (folder == nullptr ? std::string("/tmp") : folder) + "/timeline.json";
}

struct Traced {
  RunOutcome outcome;
  Json events;
};

// Overloaded, so that there are preemptions.
RunConfig crowded() {
  RunConfig config;
  config.requests = 300;
  config.scale_rate = 8;
  config.pool_slots = 4000;
  config.max_length = 1500;
  return config;
}

Traced trace(const RunConfig& config) {
  auto timeline =
      Timeline::create(timeline_path(), SimDuration(100'000'000), {{"time_model", "roofline"}});
  REQUIRE(timeline.is_ok());
  auto outcome = run(config, timeline.value().get());
  REQUIRE(outcome.is_ok());
  REQUIRE(timeline.value()->finish().is_ok());
  const Json file = parse_json(read_text_file(timeline_path()).value()).value();
  CHECK(file["otherData"]["time_model"] == "roofline");
  return {std::move(outcome).value(), file["traceEvents"]};
}

std::int64_t count(const Json& events, const std::string& phase, const std::string& name) {
  std::int64_t found = 0;
  for (const Json& event : events) found += event["ph"] == phase && event["name"] == name;
  return found;
}

TEST_CASE("every request has its slices, every preemption its instant") {
  for (const char* preemption : {"recompute", "swap"}) {
    RunConfig config = crowded();
    config.preemption = preemption;
    config.host_gib = 2;
    const Traced traced = trace(config);
    const sim::Counters& counters = traced.outcome.report.counters;
    const Json& events = traced.events;
    CHECK(counters.requests_rejected > 0);
    CHECK(counters.preemptions_recompute + counters.preemptions_swap > 0);
    CHECK(count(events, "X", "queue") == counters.requests_finished);
    CHECK(count(events, "X", "decode") == counters.requests_finished);
    CHECK(count(events, "i", "rejected") == counters.requests_rejected);
    CHECK(count(events, "i", "preempted: recompute") == counters.preemptions_recompute);
    CHECK(count(events, "i", "preempted: swap") == counters.preemptions_swap);
    CHECK(count(events, "X", "swapped") == counters.preemptions_swap);
  }
}

TEST_CASE("slices on one track do not overlap, and those of a request follow each other") {
  using Slices = std::vector<std::pair<double, double>>;
  std::map<std::pair<int, int>, Slices> by_track;
  std::map<int, Slices> by_request;
  for (const Json& event : trace(crowded()).events) {
    if (event["ph"] != "X") continue;
    const auto begin = event["ts"].get<double>();
    const double end = begin + event["dur"].get<double>();
    by_track[{event["pid"].get<int>(), event["tid"].get<int>()}].emplace_back(begin, end);
    by_request[event["args"]["request"].get<int>()].emplace_back(begin, end);
  }
  constexpr double kRounding = 0.002;  // of microseconds printed with three digits
  for (auto& [track, slices] : by_track) {
    std::sort(slices.begin(), slices.end());
    for (std::size_t i = 1; i < slices.size(); ++i) {
      CHECK(slices[i].first >= slices[i - 1].second - kRounding);
    }
  }
  for (auto& [request, slices] : by_request) {
    std::sort(slices.begin(), slices.end());
    for (std::size_t i = 1; i < slices.size(); ++i) {
      CHECK(slices[i].first == Catch::Approx(slices[i - 1].second).margin(kRounding));
    }
  }
}

TEST_CASE("pool counters add up to the pool, with at most ten events per second") {
  const Traced traced = trace(crowded());
  const double windows = seconds(traced.outcome.report.makespan) * 10 + 2;
  std::int64_t values = 0;
  double last = -1;
  for (const Json& event : traced.events) {
    if (event["ph"] != "C" || event["name"] != "pool (slots)") continue;
    ++values;
    CHECK(event["ts"].get<double>() > last);
    last = event["ts"].get<double>();
    double sum = 0;
    for (const auto& [key, value] : event["args"].items()) sum += value.get<double>();
    CHECK(sum == Catch::Approx(4000).margin(0.5));
  }
  CHECK(values > 10);
  CHECK(static_cast<double>(values) <= windows);
}

TEST_CASE("long idle periods add few events") {
  RunConfig config = crowded();
  config.requests = 3;
  config.scale_rate = 1e-6;
  CHECK(trace(config).events.size() < 10'000);
}

TEST_CASE("a run that fails leaves no timeline") {
  std::filesystem::remove(timeline_path());
  {
    auto timeline = Timeline::create(timeline_path(), SimDuration(1'000'000), Json::object());
    REQUIRE(timeline.is_ok());
  }
  CHECK_FALSE(std::filesystem::exists(timeline_path()));
}

}  // namespace
}  // namespace recto::experiments
