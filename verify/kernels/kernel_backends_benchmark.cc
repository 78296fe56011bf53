// Attention on the executor, without observers: query heads times tokens per second.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "cuda/kernels/gqa_decode.h"
#include "verify/kernels/decode_workload.h"
#include "verify/simt/executor/executor.h"
#include "verify/simt/streams/stream.h"

namespace recto::verify {
namespace {

// Runs launch(stream) on the argument's OS threads.
template <typename Launch>
void run(benchmark::State& state, const Launch& launch) {
  simt::Executor executor({.os_threads = static_cast<unsigned>(state.range(0))});
  std::uint64_t switches = 0;
  for (auto _ : state) {
    simt::Stream stream(executor);
    const Status launched = launch(stream);
    const simt::LaunchReport& report = stream.synchronise();
    switches += report.switches;
    if (!launched.is_ok() || !report.passed()) {
      state.SkipWithError((launched.message() + report.text()).c_str());
      return;
    }
  }
  const auto head_tokens =
      static_cast<double>(state.iterations() * DecodeWorkload::kRows * DecodeWorkload::kTokens);
  state.counters["head_tokens_per_second"] =
      benchmark::Counter(head_tokens, benchmark::Counter::kIsRate);
  state.counters["switches_per_head_token"] = static_cast<double>(switches) / head_tokens;
}

// Attention of one query head of one sequence over the head-major pool.
void attend(const DecodeWorkload& decode, std::int64_t row, std::span<double> scores,
            std::span<double> out) {
  constexpr std::int64_t kDim = DecodeWorkload::kHeadDim;
  const std::int64_t sequence = row / DecodeWorkload::kQueryHeads;
  const std::int64_t kv_head =
      row % DecodeWorkload::kQueryHeads * DecodeWorkload::kKvHeads / DecodeWorkload::kQueryHeads;
  const auto key_offset = [&](std::int64_t key) {
    const std::int64_t block =
        decode.batch.lists
            .block_table[sequence * DecodeWorkload::kBlocks + key / DecodeWorkload::kBlockSize];
    return ((block * DecodeWorkload::kKvHeads + kv_head) * DecodeWorkload::kBlockSize +
            key % DecodeWorkload::kBlockSize) *
           kDim;
  };
  const float* q = &decode.q[row * kDim];
  double maximum = -HUGE_VAL;
  for (std::int64_t key = 0; key < DecodeWorkload::kTokens; ++key) {
    const float* k = &decode.k[key_offset(key)];
    double score = 0;
    for (std::int64_t dim = 0; dim < kDim; ++dim) score += double{q[dim]} * double{k[dim]};
    scores[key] = score * double{decode.params.decode.options.scale};
    maximum = std::max(maximum, scores[key]);
  }
  double sum = 0;
  std::ranges::fill(out, 0.0);
  for (std::int64_t key = 0; key < DecodeWorkload::kTokens; ++key) {
    const float* v = &decode.v[key_offset(key)];
    const double weight = std::exp(scores[key] - maximum);
    sum += weight;
    for (std::int64_t dim = 0; dim < kDim; ++dim) out[dim] += weight * double{v[dim]};
  }
  for (double& value : out) value /= sum;
}

void split_decode(benchmark::State& state) {
  DecodeWorkload decode;
  run(state, [&decode](simt::Stream& stream) -> Status {
    RECTO_RETURN_IF_ERROR(kernels::launch_split_decode(decode.params, &stream));
    return kernels::launch_split_merge(decode.params, &stream);
  });
}
BENCHMARK(split_decode)->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);

// Computes sixteen rows at a time, of which a group of four fills a quarter.
void gqa_decode(benchmark::State& state) {
  DecodeWorkload decode;
  run(state, [&decode](simt::Stream& stream) -> Status {
    RECTO_RETURN_IF_ERROR(kernels::launch_gqa_decode(decode.params, &stream));
    return kernels::launch_split_merge(decode.params, &stream);
  });
}
BENCHMARK(gqa_decode)->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);

void reference_decode(benchmark::State& state) {
  DecodeWorkload decode;
  run(state, [&decode](simt::Stream& stream) -> Status {
    return kernels::launch_reference_decode(decode.params.decode, &stream);
  });
}
BENCHMARK(reference_decode)->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);

// The same in plain C++ and fp64 on one core, as a measure of this machine. It is not the
// reference, whose bounds take most of its time.
void plain_loops(benchmark::State& state) {
  const DecodeWorkload decode;
  std::vector<double> scores(DecodeWorkload::kTokens);
  std::vector<double> out(DecodeWorkload::kHeadDim);
  for (auto _ : state) {
    for (std::int64_t row = 0; row < DecodeWorkload::kRows; ++row) {
      attend(decode, row, scores, out);
      benchmark::DoNotOptimize(out.data());
    }
  }
  const auto head_tokens =
      static_cast<double>(state.iterations() * DecodeWorkload::kRows * DecodeWorkload::kTokens);
  state.counters["head_tokens_per_second"] =
      benchmark::Counter(head_tokens, benchmark::Counter::kIsRate);
}
BENCHMARK(plain_loops)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace recto::verify
