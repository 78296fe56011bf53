// Attention on the executor, plain: query heads times tokens per second. Eight sequences of 956
// tokens, eight query heads in groups of four, head dim 128, fp32; contexts in four splits.

#include <benchmark/benchmark.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "core/dense_kv_view.h"
#include "core/random_stream.h"
#include "cuda/kernels/split_decode.h"
#include "verify/simt/executor/executor.h"

namespace recto::verify {
namespace {

constexpr std::int64_t kSequences = 8;
constexpr std::int64_t kQueryHeads = 8;
constexpr std::int64_t kKvHeads = 2;
constexpr std::int64_t kHeadDim = 128;
constexpr std::int64_t kTokens = 956;
constexpr std::int64_t kBlockSize = 16;
constexpr std::int64_t kBlocks = (kTokens + kBlockSize - 1) / kBlockSize;
constexpr std::int64_t kSplits = 4;

std::vector<float> random_floats(std::int64_t count, std::uint64_t seed) {
  RandomStream stream(seed);
  std::vector<float> values(static_cast<std::size_t>(count));
  for (float& value : values) value = static_cast<float>(stream.next_unit()) - 0.5F;
  return values;
}

template <typename Pointer>
BasicRowsView<Pointer> rows(Pointer data) {
  return {.data = data,
          .num_rows = kSequences,
          .num_heads = kQueryHeads,
          .head_dim = kHeadDim,
          .row_stride = kQueryHeads * kHeadDim,
          .head_stride = kHeadDim};
}

struct Decode {
  Decode() {
    for (std::int64_t i = 0; i < std::ssize(block_table); ++i) {
      // Scattered: 37 has no common factor with their number.
      block_table[static_cast<std::size_t>(i)] =
          static_cast<std::int32_t>(i * 37 % std::ssize(block_table));
    }
    const KvPoolShape shape = {.layout = KvLayout::kHeadMajor,
                               .num_blocks = kSequences * kBlocks,
                               .block_size = kBlockSize,
                               .num_kv_heads = kKvHeads,
                               .head_dim_k = kHeadDim,
                               .head_dim_v = kHeadDim};
    params.decode = {.q = rows<const void*>(q.data()),
                     .kv = as_const(dense_kv_view(shape, k.data(), v.data()).value()),
                     .block_table = {block_table.data(), kSequences, kBlocks, kBlocks},
                     .context_length = context_length.data(),
                     .options = {.scale = 1.0F / std::sqrt(static_cast<float>(kHeadDim))},
                     .out = rows<void*>(out.data())};
    params.split_size = (kTokens + kSplits - 1) / kSplits;
    params.num_splits = kSplits;
    params.states = {maximum.data(), sum.data(), weighted.data()};
  }

  static constexpr std::int64_t kRows = kSequences * kQueryHeads;
  static constexpr std::int64_t kPool = kSequences * kBlocks * kBlockSize * kKvHeads * kHeadDim;

  std::vector<float> q = random_floats(kRows * kHeadDim, 1);
  std::vector<float> k = random_floats(kPool, 2);
  std::vector<float> v = random_floats(kPool, 3);
  std::vector<std::int32_t> block_table = std::vector<std::int32_t>(kSequences * kBlocks);
  std::vector<std::int32_t> context_length = std::vector<std::int32_t>(kSequences, kTokens);
  std::vector<float> out = std::vector<float>(kRows * kHeadDim);
  std::vector<float> maximum = std::vector<float>(kRows * kSplits);
  std::vector<float> sum = std::vector<float>(kRows * kSplits);
  std::vector<float> weighted = std::vector<float>(kRows * kSplits * kHeadDim);
  kernels::SplitDecodeParams params;
};

// Runs launch(stream), which returns what was wrong or null, on the argument's OS threads.
template <typename Launch>
void run(benchmark::State& state, const Launch& launch) {
  simt::Executor executor({.os_threads = static_cast<unsigned>(state.range(0))});
  std::uint64_t switches = 0;
  for (auto _ : state) {
    simt::Stream stream(executor);
    const char* error = launch(stream);
    const simt::LaunchReport& report = stream.synchronise();
    switches += report.switches;
    if (error != nullptr || !report.passed()) {
      state.SkipWithError(error != nullptr ? error : report.text().c_str());
      return;
    }
  }
  const auto head_tokens = static_cast<double>(state.iterations() * Decode::kRows * kTokens);
  state.counters["head_tokens_per_second"] =
      benchmark::Counter(head_tokens, benchmark::Counter::kIsRate);
  state.counters["switches_per_head_token"] = static_cast<double>(switches) / head_tokens;
}

void split_decode(benchmark::State& state) {
  Decode decode;
  run(state, [&decode](simt::Stream& stream) {
    if (const char* error = kernels::launch_split_decode(decode.params, &stream).error) {
      return error;
    }
    return kernels::launch_split_merge(decode.params, &stream).error;
  });
}
BENCHMARK(split_decode)->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);

void paged_decode(benchmark::State& state) {
  Decode decode;
  run(state, [&decode](simt::Stream& stream) {
    return kernels::launch_paged_decode(decode.params.decode, &stream).error;
  });
}
BENCHMARK(paged_decode)->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace recto::verify
