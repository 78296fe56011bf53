// Admits a prompt of 4096 tokens, in blocks of 16, to pools full of other prompts' cached blocks.

#include <benchmark/benchmark.h>

#include <cstdint>
#include <span>
#include <vector>

#include "cuda/cache/block_manager.h"
#include "cuda/cache/testing/floors.h"
#include "cuda/cache/testing/plain_manager.h"
#include "cuda/cache/testing/side_by_side.h"

namespace recto::cache::testing {
namespace {

constexpr std::int64_t kBlockSize = 16;
constexpr std::int64_t kTokens = 4096;
constexpr std::int64_t kBlocks = kTokens / kBlockSize;

// Both managers. The most recent prompts are cached, as many as fit into the pool.
class Caches {
 public:
  explicit Caches(std::int64_t num_blocks)
      : manager_(BlockManager::create(options(num_blocks)).value()),
        plain_(static_cast<std::int32_t>(num_blocks), kBlockSize) {
    for (std::uint64_t seed = 0; seed < 1 + static_cast<std::uint64_t>(num_blocks / kBlocks);
         ++seed) {
      const std::vector<TokenId> ids = prompt_ids(seed, kTokens);
      compute(ids);
      release();
      compute_plain(ids);
      release_plain();
    }
  }

  void admit(std::span<const TokenId> ids) {
    const Prompt prompt{.tokens = {.ids = ids, .items = {}}, .keys = {}};
    const Admission admitted = manager_.admit(prompt).value();
    sequence_ = admitted.sequence;
    hit_ = admitted.hit.value();
  }
  void compute(std::span<const TokenId> ids) {
    admit(ids);
    manager_.append(sequence_, TokenCount(std::ssize(ids) - hit_)).value();
    benchmark::DoNotOptimize(manager_.commit(sequence_, {.ids = ids, .items = {}}));
  }
  // Looks up a prompt with its hashes, or without.
  void ask(std::span<const TokenId> ids, std::span<const BlockHash> hashes) {
    const Prompt prompt{.tokens = {.ids = ids, .items = {}}, .keys = {}, .hashes = hashes};
    hit_ = manager_.cached_prefix(prompt).value();
    plain_hit_ = hit_;
  }
  std::vector<BlockHash> hashes_of(std::span<const TokenId> ids) const {
    std::vector<BlockHash> hashes(static_cast<std::size_t>(std::ssize(ids) / kBlockSize));
    const Prompt prompt{.tokens = {.ids = ids, .items = {}}, .keys = {}};
    benchmark::DoNotOptimize(manager_.hash_prompt(prompt, hashes).value());
    return hashes;
  }
  void release() { benchmark::DoNotOptimize(manager_.release(sequence_)); }

  void admit_plain(std::span<const TokenId> ids) {
    plain_sequence_ = *plain_.admit(ids);
    plain_hit_ = plain_.context_length(plain_sequence_);
  }
  void compute_plain(std::span<const TokenId> ids) {
    admit_plain(ids);
    plain_.append(plain_sequence_, std::ssize(ids) - plain_hit_);
    plain_.commit(plain_sequence_, ids);
  }
  void release_plain() { plain_.release(plain_sequence_); }

  bool is_hit(std::int64_t tokens) const { return hit_ == tokens && plain_hit_ == tokens; }
  // The size of the manager's metadata on blocks and content.
  std::int64_t metadata_bytes() const {
    const CacheMemory memory = manager_.memory();
    return memory.block_bytes + memory.token_bytes;
  }

 private:
  static CacheOptions options(std::int64_t num_blocks) {
    CacheOptions options;
    options.num_blocks = BlockCount(num_blocks);
    options.block_size = TokenCount(kBlockSize);
    options.max_sequences = 4;
    options.max_blocks_per_sequence = BlockCount(kBlocks + 1);
    return options;
  }

  BlockManager manager_;
  PlainManager plain_;
  SequenceHandle sequence_;
  std::int64_t hit_ = 0;
  std::int32_t plain_sequence_ = 0;
  std::int64_t plain_hit_ = 0;
};

// Filling the largest pool takes long, so the number of iterations is fixed.
void pools(benchmark::internal::Benchmark* runs) {
  runs->ArgName("blocks")->Arg(1'000)->Arg(30'000)->Arg(1'000'000);
  runs->Iterations(200)->UseManualTime();
}

// Admits a new prompt and publishes it after computing it; each of its blocks evicts one.
// Operation: one token. Floor: hashing the prompt's bytes.
void admit_cold(benchmark::State& state) {
  Caches caches(state.range(0));
  SideBySide sides(state);
  std::uint64_t seed = 1 << 20;
  for (auto _ : state) {
    const std::vector<TokenId> ids = prompt_ids(++seed, kTokens);
    sides.ours([&] { caches.compute(ids); });
    sides.plain([&] { caches.compute_plain(ids); });
    sides.floor([&] { benchmark::DoNotOptimize(hash_at_once(ids)); });
    if (!caches.is_hit(0)) state.SkipWithError("a prompt that was never admitted was found");
    caches.release();
    caches.release_plain();
  }
  sides.report(kTokens);
}
BENCHMARK(admit_cold)->Apply(pools);

// Admits a fully cached prompt. Operation: one token. Floor: hashing the prompt's bytes.
void admit_cached(benchmark::State& state) {
  const std::int64_t num_blocks = state.range(0);
  Caches caches(num_blocks);
  SideBySide sides(state);
  const std::vector<std::int32_t> order = scattered(num_blocks / kBlocks);
  std::size_t next = 0;
  for (auto _ : state) {
    // One of the most recent prompts, all of which are still cached.
    const auto seed = static_cast<std::uint64_t>(1 + order[next++ % order.size()]);
    const std::vector<TokenId> ids = prompt_ids(seed, kTokens);
    sides.ours([&] { caches.admit(ids); });
    sides.plain([&] { caches.admit_plain(ids); });
    sides.floor([&] { benchmark::DoNotOptimize(hash_at_once(ids)); });
    if (!caches.is_hit(kTokens - kBlockSize)) state.SkipWithError("a cached prompt was not found");
    caches.release();
    caches.release_plain();
  }
  sides.report(kTokens);
}
BENCHMARK(admit_cached)->Apply(pools);

// Looks up the request at the head of a queue repeatedly, with the hashes of its blocks; it is
// fully cached. Operation: one token. Reference: the same without hashes.
void ask_again(benchmark::State& state) {
  Caches caches(state.range(0));
  SideBySide sides(state);
  const std::vector<TokenId> ids = prompt_ids(1, kTokens);
  const std::vector<BlockHash> hashes = caches.hashes_of(ids);
  for (auto _ : state) {
    sides.ours([&] { caches.ask(ids, hashes); });
    if (!caches.is_hit(kTokens - kBlockSize)) state.SkipWithError("a cached prompt was not found");
    sides.reference([&] { caches.ask(ids, {}); });
  }
  sides.report(kTokens);
}
BENCHMARK(ask_again)->ArgName("blocks")->Arg(1'000)->Iterations(2'000)->UseManualTime();

// Prompts of 16 blocks, each of which replaces the least recently used block. Operation: one block,
// whose tokens are admitted, computed, published and released. Reference: serial cache misses, one
// per operation, in as much memory as the metadata of blocks and content takes.
void evict_under_pressure(benchmark::State& state) {
  constexpr std::int64_t kPrompts = 8;
  constexpr std::int64_t kShort = 16 * kBlockSize;
  Caches caches(state.range(0));
  PointerChase chase(caches.metadata_bytes());
  SideBySide sides(state);
  std::uint64_t seed = 1 << 20;
  for (auto _ : state) {
    const std::vector<TokenId> all = prompt_ids(++seed, kPrompts * kShort);
    const auto prompt = [&all](std::int64_t number) {
      return std::span(all).subspan(static_cast<std::size_t>(number * kShort), kShort);
    };
    sides.ours([&] {
      for (std::int64_t i = 0; i < kPrompts; ++i) caches.compute(prompt(i)), caches.release();
    });
    sides.plain([&] {
      for (std::int64_t i = 0; i < kPrompts; ++i) {
        caches.compute_plain(prompt(i));
        caches.release_plain();
      }
    });
    sides.reference([&] { benchmark::DoNotOptimize(chase.walk(kPrompts * kShort / kBlockSize)); });
  }
  sides.report(kPrompts * kShort / kBlockSize);
}
BENCHMARK(evict_under_pressure)->Apply(pools);

}  // namespace
}  // namespace recto::cache::testing
