#include "sim/metrics/latency.h"

#include "bazel/testing/catch.h"

namespace recto::sim {
namespace {

constexpr std::int64_t kMs = 1'000'000;

// Arrival at 1 s, admission 20 ms later, first token at 100 ms and last at 450 ms after arrival.
RequestTimes times(std::int64_t output_tokens) {
  return {.arrival = SimTime(1000 * kMs),
          .admitted = SimTime(1020 * kMs),
          .first_token = SimTime(1100 * kMs),
          .last_token = SimTime((output_tokens == 1 ? 1100 : 1450) * kMs),
          .output_tokens = TokenCount(output_tokens)};
}

Report report_of(const RequestLatencies& latencies) {
  Report report;
  latencies.write_to(report);
  return report;
}

TEST_CASE("one request has the latencies calculated by hand") {
  RequestLatencies latencies({});
  latencies.add(times(8));
  const Report report = report_of(latencies);
  CHECK(report.queueing.mean_ns == 20.0 * kMs);
  CHECK(report.ttft.mean_ns == 100.0 * kMs);
  CHECK(report.tpot.mean_ns == 50.0 * kMs);  // 350 ms over the 7 gaps between 8 tokens
  CHECK(report.end_to_end.mean_ns == 450.0 * kMs);
  CHECK(report.normalized.mean_ns == 56.25 * kMs);  // 450 ms over 8 tokens
  CHECK(report.end_to_end.max_ns == 450 * kMs);
}

TEST_CASE("no percentile lies beyond the maximum, though the middle of its bucket does") {
  RequestTimes one = times(8);
  one.last_token = SimTime(1449 * kMs);  // in a bucket around 449.8 ms
  RequestLatencies latencies({});
  latencies.add(one);
  const Report report = report_of(latencies);
  CHECK(report.end_to_end.p50_ns == 449 * kMs);
  CHECK(report.end_to_end.p99_ns == 449 * kMs);
}

TEST_CASE("an output of one token has no time per further token") {
  RequestLatencies latencies({.ttft = std::nullopt, .tpot = SimDuration(1)});
  latencies.add(times(1));
  const Report report = report_of(latencies);
  CHECK(report.tpot.max_ns == 0);
  CHECK(report.end_to_end.mean_ns == report.ttft.mean_ns);
  CHECK(report.counters.requests_within_limits == 1);
}

TEST_CASE("a request is within the limits if it meets each, the boundary included") {
  const auto within = [](std::int64_t ttft_ms, std::int64_t tpot_ms) {
    RequestLatencies latencies(
        {.ttft = SimDuration(ttft_ms * kMs), .tpot = SimDuration(tpot_ms * kMs)});
    latencies.add(times(8));
    return report_of(latencies).counters.requests_within_limits;
  };
  CHECK(within(100, 50) == 1);
  CHECK(within(99, 50) == 0);
  CHECK(within(100, 49) == 0);
}

TEST_CASE("means are exact and percentiles nearest rank over many requests") {
  LatencyRecorder recorder;
  for (std::int64_t ns = 1; ns <= 200; ++ns) recorder.add(SimDuration(ns));
  const LatencySummary summary = recorder.summary();
  CHECK(summary.mean_ns == 100.5);
  CHECK(summary.p50_ns == 100);
  CHECK(summary.p90_ns == 180);
  CHECK(summary.p99_ns == 198);
  CHECK(summary.max_ns == 200);
}

TEST_CASE("the summary of no requests is all zeros") {
  CHECK(LatencyRecorder().summary() == LatencySummary());
}

}  // namespace
}  // namespace recto::sim
