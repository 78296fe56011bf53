#pragma once

// What both benchmark programs do with a launch: time it cold, and hold it against the card.

#include <benchmark/benchmark.h>

#include <functional>
#include <string>

#include "core/status.h"
#include "cuda/bench/card_rates.h"
#include "cuda/bench/device.h"

namespace recto::bench {

// Of one call.
struct Moved {
  double bytes = 0;
  double flops = 0;
};

// False, and the benchmark skipped with the reason, where there is no GPU.
inline bool has_gpu(benchmark::State& state) {
  const std::string why = why_no_gpu();
  if (why.empty()) return true;
  state.SkipWithError(("SKIPPED: no GPU: " + why).c_str());
  return false;
}

inline const Result<CardRates>& rates_of_card() {
  static const Result<CardRates> kRates = card_rates();
  return kRates;
}

// All iterations; their seconds in all.
inline Result<double> timed(benchmark::State& state, const std::function<Status()>& launch) {
  const ColdTimer timer;
  const Result<double> unmeasured = timer.seconds_of(launch);
  if (!unmeasured.is_ok()) return unmeasured;
  double seconds = 0;
  for (auto _ : state) {
    const Result<double> taken = timer.seconds_of(launch);
    if (!taken.is_ok()) return taken;
    seconds += taken.value();
    state.SetIterationTime(taken.value());
  }
  return seconds;
}

inline void measure(benchmark::State& state, const Moved& moved,
                    const std::function<Status()>& launch) {
  const Result<CardRates>& rates = rates_of_card();
  const Result<double> measured =
      rates.is_ok() ? timed(state, launch) : Result<double>(rates.status());
  if (!measured.is_ok()) {
    state.SkipWithError(measured.status().message().c_str());
    return;
  }
  const double seconds = measured.value();
  const auto calls = static_cast<double>(state.iterations());
  state.counters["GB_per_s"] = moved.bytes * calls / seconds * 1e-9;
  state.counters["fraction_of_copy_rate"] =
      moved.bytes * calls / seconds / rates.value().copied_bytes;
  if (moved.flops > 0) {
    state.counters["fraction_of_matrix_rate"] =
        moved.flops * calls / seconds / rates.value().mma_flops;
  }
}

}  // namespace recto::bench
