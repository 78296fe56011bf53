// Reads values from a paged cache on one core: the context of one KV head after the other, from
// blocks scattered over the pool. For comparison, the same run reads as many bytes of that pool
// sequentially, which is the limit set by memory. Counters: elements per second of each, and the
// ratio of their times.

#include <benchmark/benchmark.h>

#include <chrono>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "reference/kv_cache_reader.h"
#include "reference/testing/kv_pool.h"

namespace recto::reference {
namespace {

constexpr std::int64_t kContextLength = 4096;
constexpr std::int64_t kNumHeads = 8;
constexpr std::int64_t kHeadDim = 128;
constexpr std::int64_t kBlockSize = 16;
constexpr std::int64_t kNumBlocks = kContextLength / kBlockSize;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

KvPool make_pool(const benchmark::State& state) {
  const auto type = static_cast<ElementType>(state.range(0));
  return KvPool({.layout = static_cast<KvLayout>(state.range(1)),
                 .type = type,
                 .num_blocks = kNumBlocks,
                 .block_size = kBlockSize,
                 .num_kv_heads = kNumHeads,
                 .head_dim = kHeadDim,
                 .pack_width = state.range(2) / element_bytes(type)},
                1);
}

// A permutation of the blocks that moves to another part of the pool at each step.
std::vector<std::int32_t> scattered_blocks() {
  std::vector<std::int32_t> table;
  for (std::int64_t i = 0; i < kNumBlocks; ++i) {
    table.push_back(static_cast<std::int32_t>(i * 97 % kNumBlocks));
  }
  return table;
}

std::uint64_t sum_words(const std::vector<std::byte>& bytes) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i + sizeof(sum) <= bytes.size(); i += sizeof(sum)) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + i, sizeof(word));
    sum += word;
  }
  return sum;
}

// range(0): element type; range(1): layout; range(2): bytes of a pack.
void gather_all_heads(benchmark::State& state) {
  KvPool pool = make_pool(state);
  const KvTensorView view = pool.const_view();
  const std::vector<std::int32_t> table = scattered_blocks();
  state.SetLabel(std::string(element_type_name(view.type)) + ", " + kv_layout_name(view.layout));

  double gather_seconds = 0;
  double plain_seconds = 0;
  for (auto _ : state) {
    auto start = std::chrono::steady_clock::now();
    for (std::int64_t head = 0; head < kNumHeads; ++head) {
      benchmark::DoNotOptimize(gather_head(view, table.data(), kContextLength, head).data());
    }
    const double elapsed = seconds_since(start);
    gather_seconds += elapsed;
    state.SetIterationTime(elapsed);

    start = std::chrono::steady_clock::now();
    benchmark::DoNotOptimize(sum_words(pool.bytes()));
    plain_seconds += seconds_since(start);
  }
  const auto elements =
      static_cast<double>(kContextLength * kNumHeads * kHeadDim * state.iterations());
  state.counters["elements_per_s"] = elements / gather_seconds;
  state.counters["plain_elements_per_s"] = elements / plain_seconds;
  state.counters["times_slower"] = gather_seconds / plain_seconds;
}
BENCHMARK(gather_all_heads)
    ->ArgNames({"type", "layout", "pack_bytes"})
    ->Apply([](benchmark::internal::Benchmark* runs) {
      for (const ElementType type : kElementTypes) {
        for (const KvLayout layout : {KvLayout::kTokenMajor, KvLayout::kHeadMajor}) {
          runs->Args({static_cast<std::int64_t>(type), static_cast<std::int64_t>(layout), 16});
        }
        // K of the packed layout, then its V.
        for (const std::int64_t pack_bytes : {std::int64_t{16}, element_bytes(type)}) {
          runs->Args({static_cast<std::int64_t>(type), static_cast<std::int64_t>(KvLayout::kPacked),
                      pack_bytes});
        }
      }
    })
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace recto::reference
