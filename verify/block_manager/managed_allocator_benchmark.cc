// Compares the simulator on the production manager with the simulator on its own allocators, on the
// same requests, alternately in one run. Times are CPU times, so that a busy machine favours
// neither. Counters: requests per second on the manager, and how many times longer it takes. If the
// two reports of a run differ, the run is an error.

#include <benchmark/benchmark.h>

#include <cstdint>
#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/allocators/paged_allocator.h"
#include "sim/allocators/prefix_cached_allocator.h"
#include "sim/request_list.h"
#include "sim/simulator.h"
#include "sim/time/linear_time_model.h"
#include "sim/traces/real_traces.h"
#include "sim/traces/trace_reader.h"
#include "verify/block_manager/managed_allocator.h"

namespace recto::verify {
namespace {

using cache::PrefixCaching;

constexpr std::int64_t kPoolSlots = 450'000;  // room on an H100 beside Llama-3.1-8B
constexpr std::int64_t kMaxLength = 131'072;

std::vector<sim::Request> read_trace(const char* file) {
  std::vector<sim::Request> requests;
  const std::optional<std::string> path = testing::find_real_trace(file);
  if (!path) return requests;
  const auto trace = sim::open_trace(*path, {.scale_rate = 1, .limit = {}, .lines = {}});
  while (const std::optional<sim::Request> next = trace.value()->next().value()) {
    requests.push_back(*next);
  }
  return requests;
}

// Costs of the order of magnitude of a GPU's.
const sim::TimeModel& time_model() {
  static const sim::LinearTimeModel kModel({.fixed_ns = 5e6,
                                            .per_prefill_token_ns = 3e4,
                                            .per_kv_token_ns = 50,
                                            .per_sequence_ns = 8e3,
                                            .source = "order of magnitude"});
  return kModel;
}

std::unique_ptr<sim::Allocator> make_simple(PrefixCaching caching) {
  const sim::PagedOptions pool{.pool_slots = TokenCount(kPoolSlots)};
  if (caching == PrefixCaching::kOff) return std::make_unique<sim::PagedAllocator>(pool);
  return std::make_unique<sim::PrefixCachedAllocator>(pool);
}

std::unique_ptr<sim::Allocator> make_managed(PrefixCaching caching) {
  return ManagedAllocator::create({.pool_slots = TokenCount(kPoolSlots),
                                   .caching = caching,
                                   .max_length = TokenCount(kMaxLength)})
      .value();
}

double seconds_since(std::clock_t start) {
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

void compare(benchmark::State& state, const char* file) {
  std::vector<sim::Request> requests = read_trace(file);
  if (requests.empty()) {
    state.SkipWithError("SKIPPED: no trace; set RECTO_TRACES to the folder that holds it");
    return;
  }
  const auto caching = state.range(0) == 0 ? PrefixCaching::kOff : PrefixCaching::kOn;
  const auto count = static_cast<double>(requests.size());
  sim::RequestList source(std::move(requests));
  sim::SimulationOptions options;
  options.scheduler.max_length = TokenCount(kMaxLength);
  double managed_seconds = 0;
  double simple_seconds = 0;
  for (auto _ : state) {
    source.rewind();
    std::clock_t start = std::clock();
    const auto managed = make_managed(caching);
    const auto report = simulate(source, *managed, time_model(), options);
    const double elapsed = seconds_since(start);
    managed_seconds += elapsed;
    state.SetIterationTime(elapsed);

    source.rewind();
    start = std::clock();
    const auto simple = make_simple(caching);
    const auto expected = simulate(source, *simple, time_model(), options);
    simple_seconds += seconds_since(start);
    if (report.value() != expected.value()) state.SkipWithError("the two reports differ");
  }
  state.counters["requests_per_s"] =
      count * static_cast<double>(state.iterations()) / managed_seconds;
  state.counters["times_longer"] = managed_seconds / simple_seconds;
}

// The largest trace by bytes and by tokens.
void mooncake_trace(benchmark::State& state) {
  compare(state, "mooncake-fast25-conversation.jsonl");
}
BENCHMARK(mooncake_trace)
    ->ArgName("prefix_cache")
    ->Arg(0)
    ->Arg(1)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

// The largest trace by requests.
void azure_trace(benchmark::State& state) { compare(state, "azure-llm-2023-conv.csv"); }
BENCHMARK(azure_trace)
    ->ArgName("prefix_cache")
    ->Arg(0)
    ->Arg(1)
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace recto::verify
