// What the operations that an engine calls at every step cost. Counters: nanoseconds for each
// sequence and step (append), block (pool), token (admission).

#include <benchmark/benchmark.h>

#include <cstdint>
#include <numeric>
#include <vector>

#include "cuda/cache/block_manager.h"
#include "cuda/cache/block_pool.h"

namespace recto::cache {
namespace {

constexpr std::int64_t kBlockSize = 16;

CacheOptions options_for(std::int32_t sequences, std::int64_t tokens_each) {
  CacheOptions options;
  options.max_sequences = sequences;
  options.max_blocks_per_sequence = BlockCount(tokens_each / kBlockSize);
  options.num_blocks = BlockCount(sequences * tokens_each / kBlockSize);
  options.block_size = TokenCount(kBlockSize);
  return options;
}

void report_ns(benchmark::State& state, const char* name, std::int64_t count) {
  state.counters[name] = benchmark::Counter(
      static_cast<double>(count) * 1e-9, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

// Sequences whose contexts end at different places of their blocks, as in a running engine.
std::vector<SequenceHandle> admit_staggered(BlockManager& manager, std::int32_t count) {
  std::vector<SequenceHandle> batch;
  for (std::int32_t i = 0; i < count; ++i) {
    const std::vector<TokenId> prompt(1, i);
    const SequenceHandle handle =
        manager.admit({.tokens = {.ids = prompt, .items = {}}, .keys = {}}).value().sequence;
    manager.append(handle, TokenCount(1 + i % kBlockSize)).value();
    batch.push_back(handle);
  }
  return batch;
}

// Steps are timed together: those that begin a block for a sixteenth of the batch, and others.
void append_one_to_each(benchmark::State& state, CacheOptions options) {
  constexpr std::int64_t kTokens = 1 << 14;
  const auto sequences = static_cast<std::int32_t>(state.range(0));
  CacheOptions sized = options_for(sequences, kTokens);
  sized.groups = options.groups;
  sized.num_blocks = sized.num_blocks * std::ssize(sized.groups);
  BlockManager manager = BlockManager::create(sized).value();
  std::vector<SequenceHandle> batch = admit_staggered(manager, sequences);
  std::int64_t left = kTokens - kBlockSize;
  for (auto _ : state) {
    if (--left == 0) {
      state.PauseTiming();
      for (const SequenceHandle handle : batch) benchmark::DoNotOptimize(manager.release(handle));
      batch = admit_staggered(manager, sequences);
      left = kTokens - kBlockSize - 1;
      state.ResumeTiming();
    }
    const auto copies = manager.append(batch);
    if (!copies.is_ok()) {
      state.SkipWithError(copies.status().message().c_str());
      break;
    }
  }
  report_ns(state, "ns_per_sequence", state.iterations() * sequences);
}

void append_one_group(benchmark::State& state) { append_one_to_each(state, {}); }
BENCHMARK(append_one_group)->Arg(1)->Arg(256)->Arg(1024);

void append_with_a_window_group(benchmark::State& state) {
  CacheOptions options;
  options.groups = {LayerGroup{}, LayerGroup{.num_layers = 1, .window = TokenCount(4096)}};
  append_one_to_each(state, options);
}
BENCHMARK(append_with_a_window_group)->Arg(256);

void append_in_eighty_groups(benchmark::State& state) {
  CacheOptions options;
  options.groups.resize(80);
  append_one_to_each(state, options);
}
BENCHMARK(append_in_eighty_groups)->Arg(16);

// The part of it that begins no block: what most sequences do at most steps.
void append_inside_blocks(benchmark::State& state) {
  constexpr std::int64_t kRun = 1 << 14;
  const auto sequences = static_cast<std::int32_t>(state.range(0));
  BlockManager manager = BlockManager::create(options_for(sequences, kRun)).value();
  const std::vector<SequenceHandle> batch = admit_staggered(manager, sequences);
  for (const SequenceHandle handle : batch) manager.reserve(handle, TokenCount(kRun)).value();
  std::int64_t left = kRun - kBlockSize;
  for (auto _ : state) {
    if (--left == 0) {
      state.PauseTiming();
      for (const SequenceHandle handle : batch) {
        benchmark::DoNotOptimize(manager.truncate(handle, TokenCount(kBlockSize)));
        manager.append(handle, TokenCount(1)).value();
        manager.reserve(handle, TokenCount(kRun)).value();
      }
      left = kRun - kBlockSize - 1;
      state.ResumeTiming();
    }
    benchmark::DoNotOptimize(manager.append(batch).value().data());
  }
  report_ns(state, "ns_per_sequence", state.iterations() * sequences);
}
BENCHMARK(append_inside_blocks)->Arg(256);

void allocate_and_free(benchmark::State& state) {
  BlockPool pool = BlockPool::create(BlockCount(state.range(0)), BlockCount(1)).value();
  for (auto _ : state) pool.release(pool.allocate().block);
  report_ns(state, "ns_per_block", state.iterations());
}
BENCHMARK(allocate_and_free)->Arg(1'000)->Arg(100'000)->Arg(10'000'000);

void admit_4k_tokens(benchmark::State& state) {
  constexpr std::int64_t kTokens = 4096;
  const bool is_cached = state.range(0) == 1;
  BlockManager manager = BlockManager::create(options_for(4, 2 * kTokens)).value();
  std::vector<TokenId> ids(kTokens + 1);
  std::iota(ids.begin(), ids.end(), 0);
  const Prompt prompt{.tokens = {.ids = ids, .items = {}}, .keys = {}};
  if (is_cached) {
    const SequenceHandle first = manager.admit(prompt).value().sequence;
    manager.append(first, TokenCount(kTokens)).value();
    benchmark::DoNotOptimize(manager.commit(first, prompt.tokens));
  }
  for (auto _ : state) {
    const SequenceHandle handle = manager.admit(prompt).value().sequence;
    benchmark::DoNotOptimize(manager.release(handle));
  }
  report_ns(state, "ns_per_token", state.iterations() * kTokens);
}
BENCHMARK(admit_4k_tokens)->ArgName("cached")->Arg(0)->Arg(1);

void fork_100k_tokens(benchmark::State& state) {
  constexpr std::int64_t kTokens = 100'000;
  BlockManager manager = BlockManager::create(options_for(2, kTokens + kBlockSize)).value();
  const std::vector<TokenId> ids(1);
  const SequenceHandle parent =
      manager.admit({.tokens = {.ids = ids, .items = {}}, .keys = {}}).value().sequence;
  manager.append(parent, TokenCount(kTokens)).value();
  for (auto _ : state) {
    benchmark::DoNotOptimize(manager.release(manager.fork(parent).value()));
  }
  report_ns(state, "ns_per_block", state.iterations() * kTokens / kBlockSize);
}
BENCHMARK(fork_100k_tokens);

}  // namespace
}  // namespace recto::cache
