// Compares the event-driven simulator with the plain one (sim/testing/plain_simulator.h) on the
// same requests in the same run. Counters: requests and sequence-steps per second of each, the
// ratio of their times, and the mean batch, on which the ratio depends because the plain simulator
// touches every sequence at every step. If the two reports differ, the run fails.

#include <benchmark/benchmark.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "sim/allocators/paged_allocator.h"
#include "sim/request_list.h"
#include "sim/simulator.h"
#include "sim/testing/azure_regimes.h"
#include "sim/testing/plain_simulator.h"
#include "sim/workloads/builtin_workloads.h"

namespace recto::sim {
namespace {

std::vector<Request> read_all(RequestSource& source) {
  std::vector<Request> requests;
  while (true) {
    const Result<std::optional<Request>> next = source.next();
    if (!next.is_ok() || !next.value()) return requests;
    requests.push_back(*next.value());
  }
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void compare(benchmark::State& state, std::vector<Request> requests, std::int64_t max_sequences) {
  if (requests.empty()) {
    state.SkipWithError("SKIPPED: no trace; set RECTO_TRACES to the folder that holds it");
    return;
  }
  RequestList source(std::move(requests));
  const PagedOptions pool = roomy_pool(max_sequences);
  const SimulationOptions options = roomy_options(max_sequences);

  double event_seconds = 0;
  double plain_seconds = 0;
  Report report;
  for (auto _ : state) {
    source.rewind();
    auto start = std::chrono::steady_clock::now();
    PagedAllocator allocator(pool);
    report = simulate(source, allocator, card_time_model(), options).value();
    const double elapsed = seconds_since(start);
    event_seconds += elapsed;
    state.SetIterationTime(elapsed);

    source.rewind();
    start = std::chrono::steady_clock::now();
    const Report plain = simulate_plainly(source, pool, card_time_model(), options).value();
    plain_seconds += seconds_since(start);
    if (plain != report) state.SkipWithError("the two reports differ");
  }
  const auto runs = static_cast<double>(state.iterations());
  const auto steps = static_cast<double>(report.counters.decode_tokens);
  const auto finished = static_cast<double>(report.counters.requests_finished);
  state.counters["mean_batch"] = report.gauge(Gauge::kRunningSequences).mean;
  state.counters["requests_per_s"] = finished * runs / event_seconds;
  state.counters["sequence_steps_per_s"] = steps * runs / event_seconds;
  state.counters["plain_sequence_steps_per_s"] = steps * runs / plain_seconds;
  state.counters["times_faster"] = plain_seconds / event_seconds;
}

// range(0): factor by which arrivals are denser than recorded; range(1): most concurrent sequences.
void azure_trace(benchmark::State& state) {
  compare(state, azure_requests(state.range(0)), state.range(1));
}
BENCHMARK(azure_trace)
    ->ArgNames({"scale_rate", "max_sequences"})
    ->Apply([](benchmark::internal::Benchmark* runs) {
      for (const AzureRegime& regime : kAzureRegimes) {
        runs->Args({regime.scale_rate, regime.max_sequences});
      }
    })
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

void sharegpt_like(benchmark::State& state) {
  SyntheticOptions options = builtin_workload("sharegpt-like").value();
  options.arrivals = parse_arrivals("poisson:16").value();
  compare(state, read_all(*SyntheticWorkload::create(options).value()), state.range(0));
}
BENCHMARK(sharegpt_like)
    ->ArgName("max_sequences")
    ->Arg(512)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace recto::sim
