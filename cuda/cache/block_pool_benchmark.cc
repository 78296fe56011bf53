// Allocates and frees blocks, in pools that fit into one of the CPU's caches and in one that does
// not. Operation: freeing a block somewhere in the pool and allocating one. Reference: serial cache
// misses in as much metadata, one per operation, because a block's metadata is in one cache line.

#include "cuda/cache/block_pool.h"

#include <benchmark/benchmark.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "cuda/cache/testing/floors.h"
#include "cuda/cache/testing/plain_manager.h"
#include "cuda/cache/testing/side_by_side.h"

namespace recto::cache::testing {
namespace {

constexpr std::int64_t kBatch = 1000;

// All blocks are held, and are freed in this order, repeatedly.
class Round {
 public:
  explicit Round(std::int64_t num_blocks) : order_(scattered(num_blocks)) {}

  // The next blocks.
  std::span<std::int32_t> next() {
    if (at_ + kBatch > std::ssize(order_)) at_ = 0;
    at_ += kBatch;
    return std::span(order_).subspan(static_cast<std::size_t>(at_ - kBatch), kBatch);
  }

 private:
  std::vector<std::int32_t> order_;
  std::int64_t at_ = 0;
};

void allocate_and_free(benchmark::State& state) {
  const std::int64_t num_blocks = state.range(0);
  BlockPool pool = BlockPool::create(BlockCount(num_blocks), BlockCount(0)).value();
  PlainManager plain(static_cast<std::int32_t>(num_blocks), 16);
  for (std::int64_t i = 0; i < num_blocks; ++i) {
    pool.allocate();
    plain.allocate();
  }
  PointerChase chase(num_blocks * BlockPool::bytes_per_block());
  Round round(num_blocks);
  Round plain_round(num_blocks);
  SideBySide sides(state);
  for (auto _ : state) {
    std::span<std::int32_t> blocks = round.next();
    sides.ours([&] {
      for (const std::int32_t block : blocks) pool.release(BlockId(block));
      for (std::int32_t& block : blocks) block = pool.allocate().block.value();
    });
    blocks = plain_round.next();
    sides.plain([&] {
      for (const std::int32_t block : blocks) plain.give_back(block);
      for (std::int32_t& block : blocks) block = *plain.allocate();
    });
    sides.reference([&] { benchmark::DoNotOptimize(chase.walk(kBatch)); });
  }
  sides.report(kBatch);
}
BENCHMARK(allocate_and_free)
    ->ArgName("blocks")
    ->Arg(1'000)
    ->Arg(100'000)
    ->Arg(10'000'000)
    ->Iterations(1000)
    ->UseManualTime();

}  // namespace
}  // namespace recto::cache::testing
