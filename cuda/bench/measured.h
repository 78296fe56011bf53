#pragma once

// What all benchmark programs do with a launch: time it cold, again and again, and hold the median
// against the card.

#include <benchmark/benchmark.h>

#include <cstdint>
#include <functional>
#include <string>

#include "core/status.h"
#include "cuda/bench/attention_cases.h"
#include "cuda/bench/batch_shape.h"
#include "cuda/bench/counted_work.h"

namespace recto::bench {

// Each program's own: tells Google Benchmark what there is to run.
void register_benchmarks(CaseSet set);

// Samples of each case; the flag --samples.
void set_samples(std::int64_t samples);

// Measures what the card does in a second, which all cases are held against, and tells it in the
// results' context: to be called before a case takes the memory for it.
Status measure_card();

// What bytes are held against.
enum class Path : std::uint8_t { kOnDevice, kToHost, kFromHost };

struct Measured {
  Work work;
  Path path = Path::kOnDevice;
};

// Launches, on the default stream; `turn` counts samples, by which inputs take turns.
using Launch = std::function<Status(std::int64_t turn)>;

// Sets the time of the benchmark to the median of its samples, and the counters median_us, low_us,
// high_us (tenths), spread, samples, bytes, flops, GB_per_s, fraction_of_copy_rate,
// copy_GB_per_s and, where there are products, fraction_of_matrix_rate, matrix_TFLOP_per_s.
// An error of a launch ends the benchmark by its words.
void measure(benchmark::State& state, const Measured& what, const Launch& launch);

// The sizes of a batch as counters, by which others find a result without reading its name.
void add_counters(benchmark::State& state, const BatchShape& shape);

// Ends a benchmark, and says why: as skipped, where there is too little memory or no kernel for it;
// else as failed.
void give_up(benchmark::State& state, const Status& why);

// So that a case is run once, in which all samples are taken, and timed by what measure() says.
benchmark::internal::Benchmark* register_case(const std::string& name,
                                              std::function<void(benchmark::State&)> run);

}  // namespace recto::bench
