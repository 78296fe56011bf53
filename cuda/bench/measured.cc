#include "cuda/bench/measured.h"

#include <utility>
#include <vector>

#include "cuda/bench/card_rates.h"
#include "cuda/bench/device.h"
#include "cuda/bench/sample_statistics.h"

namespace recto::bench {
namespace {

constexpr double kLongEnoughSeconds = 1;  // time for all samples of a case, if there are at least
constexpr std::size_t kSamplesMin = 5;    // this many

std::int64_t samples_wanted = 31;

const Result<CardRates>& rates_of_card() {
  static const Result<CardRates> kRates = card_rates();
  return kRates;
}

double copy_rate(const CardRates& rates, Path path) {
  if (path == Path::kToHost) return rates.to_host_bytes;
  return path == Path::kFromHost ? rates.from_host_bytes : rates.copied_bytes;
}

Result<std::vector<double>> sampled(const Launch& launch) {
  const ColdTimer timer;
  std::vector<double> samples;
  double sum = 0;
  // The first turn loads code and raises clocks, so it is not sampled.
  for (std::int64_t turn = 0; turn <= samples_wanted; ++turn) {
    const Result<double> taken = timer.seconds_of([&] { return launch(turn); });
    if (!taken.is_ok()) return taken.status();
    if (turn == 0) continue;
    samples.push_back(taken.value());
    sum += taken.value();
    if (sum > kLongEnoughSeconds && samples.size() >= kSamplesMin) break;
  }
  return samples;
}

void add_times(benchmark::State& state, const SampleStatistics& seconds, std::size_t samples) {
  state.counters["median_us"] = seconds.median * 1e6;
  state.counters["low_us"] = seconds.low * 1e6;
  state.counters["high_us"] = seconds.high * 1e6;
  state.counters["spread"] = seconds.spread();
  state.counters["samples"] = static_cast<double>(samples);
}

void add_fractions(benchmark::State& state, const Measured& what, const CardRates& rates,
                   double seconds) {
  const double rate = copy_rate(rates, what.path);
  state.counters["bytes"] = what.work.bytes;
  state.counters["flops"] = what.work.flops;
  state.counters["GB_per_s"] = what.work.bytes / seconds * 1e-9;
  state.counters["copy_GB_per_s"] = rate * 1e-9;
  state.counters["fraction_of_copy_rate"] = what.work.bytes / seconds / rate;
  if (what.work.flops == 0) return;
  state.counters["matrix_TFLOP_per_s"] = rates.matrix_flops() * 1e-12;
  state.counters["fraction_of_matrix_rate"] = what.work.flops / seconds / rates.matrix_flops();
}

}  // namespace

void set_samples(std::int64_t samples) { samples_wanted = samples; }

Status measure_card() {
  const Result<CardRates>& rates = rates_of_card();
  RECTO_RETURN_IF_ERROR(rates.status());
  const auto tera = [](double flops) { return std::to_string(flops * 1e-12); };
  benchmark::AddCustomContext("matrix_rate_by", rates.value().matrix_rate_by());
  benchmark::AddCustomContext("mma_TFLOP_per_s", tera(rates.value().mma_flops));
  if (rates.value().blas_flops > 0) {
    benchmark::AddCustomContext("blas_TFLOP_per_s", tera(rates.value().blas_flops));
  }
  return Status::ok();
}

void measure(benchmark::State& state, const Measured& what, const Launch& launch) {
  const Result<CardRates>& rates = rates_of_card();
  const Result<std::vector<double>> samples =
      rates.is_ok() ? sampled(launch) : Result<std::vector<double>>(rates.status());
  if (!samples.is_ok()) {
    state.SkipWithError(samples.status().message().c_str());
    return;
  }
  const SampleStatistics seconds = statistics_of(samples.value());
  for (auto _ : state) state.SetIterationTime(seconds.median);
  add_times(state, seconds, samples.value().size());
  add_fractions(state, what, rates.value(), seconds.median);
}

void add_counters(benchmark::State& state, const BatchShape& shape) {
  const auto add = [&](const char* name, std::int64_t value) {
    state.counters[name] = static_cast<double>(value);
  };
  add("batch", shape.num_seqs);
  add("context", shape.context_length);
  add("rows", shape.rows_per_seq);
  add("kv_heads", shape.num_kv_heads);
  add("group", shape.group);
  add("head_dim", shape.head_dim);
  add("block_size", shape.slots_per_block());
  add("contiguous", shape.placement == Placement::kContiguous ? 1 : 0);
  add("kv_element_bytes", element_bytes(shape.kv_type));
  add("kv_bytes", 2 * shape.num_tokens() * shape.token_bytes());
}

void give_up(benchmark::State& state, const Status& why) {
  const bool is_failure = why.code() == StatusCode::kFailed;
  state.SkipWithError(((is_failure ? "" : "SKIPPED: ") + why.message()).c_str());
}

benchmark::internal::Benchmark* register_case(const std::string& name,
                                              std::function<void(benchmark::State&)> run) {
  return benchmark::RegisterBenchmark(name.c_str(), std::move(run))
      ->Iterations(1)
      ->UseManualTime()
      ->Unit(benchmark::kMicrosecond);
}

}  // namespace recto::bench
