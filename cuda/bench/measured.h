#pragma once

// Measures launches for all benchmark programs: times them cold, repeatedly, and reports the median
// relative to the card's rates.

#include <benchmark/benchmark.h>

#include <cstdint>
#include <functional>
#include <string>

#include "core/status.h"
#include "cuda/bench/attention_cases.h"
#include "cuda/bench/batch_shape.h"
#include "cuda/bench/counted_work.h"

namespace recto::bench {

// Defined by each program: registers its cases with Google Benchmark.
void register_benchmarks(CaseSet set);

// The number of samples of each case, from the flag --samples.
void set_samples(std::int64_t samples);

// Measures the card's rates, with which all cases are compared, and adds them to the context of the
// results. Call it before a case allocates its memory.
Status measure_card();

// The rate that moved bytes are compared with.
enum class Path : std::uint8_t { kOnDevice, kToHost, kFromHost };

struct Measured {
  Work work;
  Path path = Path::kOnDevice;
};

// Launches on the default stream; `turn` counts samples and selects the inputs.
using Launch = std::function<Status(std::int64_t turn)>;

// Sets the time of the benchmark to the median of its samples, and the counters median_us, low_us,
// high_us (tenths), spread, samples, bytes, flops, GB_per_s, fraction_of_copy_rate,
// copy_GB_per_s and, where there are products, fraction_of_matrix_rate, matrix_TFLOP_per_s.
// An error of a launch ends the benchmark with its message.
void measure(benchmark::State& state, const Measured& what, const Launch& launch);

// Adds the sizes of a batch as counters, so that tools find a result without parsing its name.
void add_counters(benchmark::State& state, const BatchShape& shape);

// Ends a benchmark with the reason: as skipped if there is too little memory or no kernel for it,
// otherwise as failed.
void give_up(benchmark::State& state, const Status& why);

// Registers a case that runs once, takes all samples in that run, and is timed by measure().
benchmark::internal::Benchmark* register_case(const std::string& name,
                                              std::function<void(benchmark::State&)> run);

}  // namespace recto::bench
