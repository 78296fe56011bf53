// Reads a trace in the Azure format, and compares with a typical handwritten loop: getline,
// stringstream, stod. Both read the same text from memory; rates are per second of CPU time.

#include <cstdint>
#include <sstream>
#include <string>
#include <utility>

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "core/random_stream.h"
#include "sim/traces/trace_reader.h"

namespace recto::sim {
namespace {

constexpr int kRows = 20'000;

// About four requests per second over nearly an hour and a half, as in the public trace.
const std::string& azure_text() {
  static const std::string kText = [] {
    RandomStream random(1);
    std::string rows = "TIMESTAMP,ContextTokens,GeneratedTokens\r\n";
    std::int64_t ticks = 0;  // units of 100 ns
    for (int i = 0; i < kRows; ++i) {
      ticks += static_cast<std::int64_t>(random.next_below(5'000'000));
      const std::int64_t s = ticks / 10'000'000;
      rows += fmt::format("2023-11-16 {:02}:{:02}:{:02}.{:07},{},{}\r\n", 10 + s / 3600,
                          s / 60 % 60, s % 60, ticks % 10'000'000, 1 + random.next_below(4000),
                          1 + random.next_below(1000));
    }
    return rows;
  }();
  return kText;
}

void report_rates(benchmark::State& state) {
  state.SetItemsProcessed(state.iterations() * kRows);
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(azure_text().size()));
}

void read_with_trace_reader(benchmark::State& state) {
  azure_text();  // built before the clock starts
  for ([[maybe_unused]] auto _ : state) {
    auto trace = std::move(read_trace(make_memory_source(azure_text()), "azure")).value();
    std::int64_t tokens = 0;
    while (!trace->exhausted()) {
      const Result<std::optional<Request>> request = trace->next();
      tokens += request.value()->prompt_tokens.value();
    }
    benchmark::DoNotOptimize(tokens);
  }
  report_rates(state);
}
BENCHMARK(read_with_trace_reader)->Unit(benchmark::kMillisecond);

void read_with_getline(benchmark::State& state) {
  azure_text();
  for ([[maybe_unused]] auto _ : state) {
    std::istringstream text(azure_text());
    std::string line;
    std::getline(text, line);
    double arrivals = 0;
    std::int64_t tokens = 0;
    while (std::getline(text, line)) {
      std::stringstream fields(line);
      std::string date, hour, minute, second, prompt, output;
      std::getline(fields, date, ' ');
      std::getline(fields, hour, ':');
      std::getline(fields, minute, ':');
      std::getline(fields, second, ',');
      std::getline(fields, prompt, ',');
      std::getline(fields, output, ',');
      arrivals += std::stod(hour) * 3600 + std::stod(minute) * 60 + std::stod(second);
      tokens += std::stoll(prompt) + std::stoll(output);
    }
    benchmark::DoNotOptimize(arrivals);
    benchmark::DoNotOptimize(tokens);
  }
  report_rates(state);
}
BENCHMARK(read_with_getline)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace recto::sim
