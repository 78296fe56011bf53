// Forks a sequence of 100,000 tokens that grew alone (contiguous blocks) or among others (blocks
// scattered over the pool). Operation: one block of 16 tokens. Floor: copying the table.

#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "cuda/cache/block_manager.h"
#include "cuda/cache/testing/floors.h"
#include "cuda/cache/testing/plain_manager.h"
#include "cuda/cache/testing/side_by_side.h"

namespace recto::cache::testing {
namespace {

constexpr std::int64_t kBlockSize = 16;
constexpr std::int64_t kBlocks = 100'000 / kBlockSize;

CacheOptions options_for(std::int32_t num_sequences) {
  CacheOptions options;
  options.num_blocks = BlockCount(num_sequences * kBlocks);
  options.block_size = TokenCount(kBlockSize);
  options.max_sequences = num_sequences + 1;
  options.max_blocks_per_sequence = BlockCount(kBlocks);
  return options;
}

void fork_long_sequence(benchmark::State& state) {
  const auto num_sequences = static_cast<std::int32_t>(state.range(0));
  BlockManager manager = BlockManager::create(options_for(num_sequences)).value();
  PlainManager plain(static_cast<std::int32_t>(num_sequences * kBlocks), kBlockSize);
  std::vector<SequenceHandle> batch;
  const std::vector<TokenId> id(1);
  for (std::int32_t i = 0; i < num_sequences; ++i) {
    const Prompt prompt{.tokens = {.ids = id, .items = {}}, .keys = {}};
    batch.push_back(manager.admit(prompt).value().sequence);
    benchmark::DoNotOptimize(plain.admit(id));
  }
  const std::vector<std::int32_t> order = scattered(num_sequences);
  for (std::int64_t block = 0; block < kBlocks; ++block) {
    for (const std::int32_t i : order) {
      manager.append(batch[static_cast<std::size_t>(i)], TokenCount(kBlockSize)).value();
      plain.append(i, kBlockSize);
    }
  }
  const std::vector<BlockId> from(static_cast<std::size_t>(kBlocks));
  std::vector<BlockId> to(from.size());
  SideBySide sides(state);
  for (auto _ : state) {
    SequenceHandle child;
    std::int32_t plain_child = 0;
    sides.ours([&] { child = manager.fork(batch[0]).value(); });
    sides.plain([&] { plain_child = plain.fork(0); });
    sides.floor([&] { std::memcpy(to.data(), from.data(), from.size() * sizeof(BlockId)); });
    benchmark::DoNotOptimize(manager.release(child));
    plain.release(plain_child);
  }
  sides.report(kBlocks);
}
BENCHMARK(fork_long_sequence)
    ->ArgName("sequences")
    ->Arg(1)
    ->Arg(160)
    ->Iterations(500)
    ->UseManualTime();

}  // namespace
}  // namespace recto::cache::testing
