// Appends a token to each sequence of a batch. Operation: one sequence and step. Floor: increasing
// the length in each sequence's record, in the order of the batch.

#include <benchmark/benchmark.h>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "cuda/cache/block_manager.h"
#include "cuda/cache/testing/plain_manager.h"
#include "cuda/cache/testing/side_by_side.h"

namespace recto::cache::testing {
namespace {

constexpr std::int64_t kBlockSize = 16;
constexpr std::int64_t kSteps = 48;
constexpr std::int64_t kBlocksOfOne = (kSteps + 2 * kBlockSize) / kBlockSize;  // at most
// Initial contexts end at different slots of a block, as in a running engine.
std::int64_t start_of(std::int64_t sequence) { return 1 + sequence % kBlockSize; }

struct alignas(64) Record {
  std::int64_t length = 0;
};

// A batch in both managers, which grows and is truncated again.
class GrowingSequences {
 public:
  GrowingSequences(std::int64_t num_sequences, CacheOptions options)
      : manager_(BlockManager::create(sized(num_sequences, std::move(options))).value()),
        records_(static_cast<std::size_t>(num_sequences)) {
    const std::int64_t blocks = num_sequences * kBlocksOfOne;
    for (const LayerGroup& group : manager_.options().groups) {
      plain_.emplace_back(static_cast<std::int32_t>(blocks), kBlockSize, window_of(group));
    }
    for (TokenId first = 0; first < num_sequences; ++first) {
      const std::span<const TokenId> ids(&first, 1);
      batch_.push_back(
          manager_.admit({.tokens = {.ids = ids, .items = {}}, .keys = {}}).value().sequence);
      manager_.append(batch_.back(), TokenCount(start_of(first))).value();
      for (PlainManager& group : plain_) group.append(*group.admit(ids), start_of(first));
      plain_batch_.push_back(static_cast<std::int32_t>(first));
    }
  }

  // Reserves slots for all steps, so that none begins a block.
  void reserve() {
    for (const SequenceHandle handle : batch_) {
      manager_.reserve(handle, TokenCount(kSteps + kBlockSize)).value();
    }
  }
  void grow(std::int64_t steps) {
    for (; steps > 0; --steps) benchmark::DoNotOptimize(manager_.append(batch_).value().data());
  }
  void grow_plain(std::int64_t steps) {
    for (; steps > 0; --steps) {
      for (PlainManager& group : plain_) benchmark::DoNotOptimize(group.append(plain_batch_));
    }
  }
  void raise(std::int64_t steps) {
    for (; steps > 0; --steps) {
      for (const SequenceHandle handle : batch_) {
        ++records_[static_cast<std::size_t>(handle.index)].length;
      }
      benchmark::ClobberMemory();
    }
  }
  void cut_back() {
    for (std::int64_t i = 0; i < std::ssize(batch_); ++i) {
      const auto place = static_cast<std::size_t>(i);
      benchmark::DoNotOptimize(manager_.truncate(batch_[place], TokenCount(start_of(i))));
      for (PlainManager& group : plain_) group.truncate(plain_batch_[place], start_of(i));
    }
  }

 private:
  static std::optional<std::int64_t> window_of(const LayerGroup& group) {
    if (!group.window) return std::nullopt;
    return group.window->value();
  }
  static CacheOptions sized(std::int64_t num_sequences, CacheOptions options) {
    options.block_size = TokenCount(kBlockSize);
    options.max_sequences = static_cast<std::int32_t>(num_sequences);
    options.max_blocks_per_sequence = BlockCount(kBlocksOfOne);
    options.num_blocks = BlockCount(num_sequences * kBlocksOfOne * std::ssize(options.groups));
    return options;
  }

  BlockManager manager_;
  std::vector<PlainManager> plain_;  // one for each group, as it has a single table per sequence
  std::vector<Record> records_;
  std::vector<SequenceHandle> batch_;
  std::vector<std::int32_t> plain_batch_;
};

// Steps in which a sixteenth of the batch begins a block.
void append_one_to_each(benchmark::State& state) {
  GrowingSequences batch(state.range(0), {});
  SideBySide sides(state);
  for (auto _ : state) {
    sides.ours([&] { batch.grow(kSteps); });
    sides.plain([&] { batch.grow_plain(kSteps); });
    sides.floor([&] { batch.raise(kSteps); });
    batch.cut_back();
  }
  sides.report(kSteps * state.range(0));
}
BENCHMARK(append_one_to_each)->ArgName("sequences")->Arg(1)->Arg(256)->Arg(4096)->UseManualTime();

// Steps in which no block begins, as for most sequences in most steps.
void append_inside_blocks(benchmark::State& state) {
  GrowingSequences batch(state.range(0), {});
  SideBySide sides(state);
  for (auto _ : state) {
    batch.reserve();
    // The first step checks everything, because lookahead was added.
    batch.grow(1);
    batch.grow_plain(1);
    sides.ours([&] { batch.grow(kSteps - 1); });
    sides.plain([&] { batch.grow_plain(kSteps - 1); });
    sides.floor([&] { batch.raise(kSteps - 1); });
    batch.cut_back();
  }
  sides.report((kSteps - 1) * state.range(0));
}
BENCHMARK(append_inside_blocks)->ArgName("sequences")->Arg(256)->UseManualTime();

// The same batch with separate tables for layers with a window, and with separate tables for every
// layer.
void append_with_a_window_group(benchmark::State& state) {
  CacheOptions options;
  options.groups = {LayerGroup{}, LayerGroup{.num_layers = 1, .window = TokenCount(32)}};
  GrowingSequences batch(state.range(0), options);
  SideBySide sides(state);
  for (auto _ : state) {
    sides.ours([&] { batch.grow(kSteps); });
    sides.plain([&] { batch.grow_plain(kSteps); });
    sides.floor([&] { batch.raise(kSteps); });
    batch = GrowingSequences(state.range(0), options);  // cannot truncate behind a window
  }
  sides.report(kSteps * state.range(0));
}
BENCHMARK(append_with_a_window_group)->ArgName("sequences")->Arg(256)->UseManualTime();

void append_in_eighty_groups(benchmark::State& state) {
  CacheOptions options;
  options.groups.resize(80);
  GrowingSequences batch(state.range(0), options);
  SideBySide sides(state);
  for (auto _ : state) {
    sides.ours([&] { batch.grow(kSteps); });
    sides.plain([&] { batch.grow_plain(kSteps); });
    sides.floor([&] { batch.raise(kSteps); });
    batch.cut_back();
  }
  sides.report(kSteps * state.range(0));
}
BENCHMARK(append_in_eighty_groups)->ArgName("sequences")->Arg(16)->UseManualTime();

}  // namespace
}  // namespace recto::cache::testing
