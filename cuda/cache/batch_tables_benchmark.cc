// Updates the block tables of 256 sequences after a step in which a sixteenth of them began a
// block. Operation: one step. Plain: rewrites all rows. Reference: copies a buffer of their size.

#include "cuda/cache/batch_tables.h"

#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "cuda/cache/block_manager.h"
#include "cuda/cache/testing/plain_manager.h"
#include "cuda/cache/testing/side_by_side.h"

namespace recto::cache::testing {
namespace {

constexpr std::int64_t kBlockSize = 16;
constexpr std::int32_t kSequences = 256;
constexpr std::int64_t kSteps = 64;

void update_tables(benchmark::State& state) {
  const std::int64_t tokens = state.range(0);
  const std::int64_t columns = (tokens + kSteps) / kBlockSize + 2;
  CacheOptions options;
  options.num_blocks = BlockCount(kSequences * columns);
  options.max_sequences = kSequences;
  options.max_blocks_per_sequence = BlockCount(columns);
  BlockManager manager = BlockManager::create(options).value();
  PlainManager plain(static_cast<std::int32_t>(kSequences * columns), kBlockSize);
  std::vector<std::int32_t> buffer(static_cast<std::size_t>(kSequences * columns));
  std::vector<std::int32_t> plain_buffer(buffer.size());
  BatchTables tables = BatchTables::create(manager, {.max_rows = kSequences}, buffer).value();
  std::vector<SequenceHandle> batch;
  std::vector<std::int32_t> plain_batch;
  for (std::int32_t i = 0; i < kSequences; ++i) {
    const std::vector<TokenId> id(1, i);
    batch.push_back(
        manager.admit({.tokens = {.ids = id, .items = {}}, .keys = {}}).value().sequence);
    plain_batch.push_back(*plain.admit(id));
    manager.append(batch.back(), TokenCount(tokens + i % kBlockSize)).value();
    plain.append(plain_batch.back(), tokens + i % kBlockSize);
    benchmark::DoNotOptimize(tables.assign(i, batch.back()));
  }
  tables.update();
  SideBySide sides(state);
  std::int64_t step = 0;
  for (auto _ : state) {
    if (++step == kSteps) {
      step = 1;
      for (std::int32_t i = 0; i < kSequences; ++i) {
        const auto place = static_cast<std::size_t>(i);
        const TokenCount start(tokens + i % kBlockSize);
        benchmark::DoNotOptimize(manager.truncate(batch[place], start));
        plain.truncate(plain_batch[place], start.value());
      }
      tables.update();
    }
    manager.append(batch).value();
    plain.append(plain_batch);
    sides.ours([&] { benchmark::DoNotOptimize(tables.update().data()); });
    sides.plain([&] { plain.write_tables(plain_batch, columns, plain_buffer); });
    sides.reference([&] { std::memcpy(plain_buffer.data(), buffer.data(), buffer.size() * 4); });
  }
  sides.report(1);
}
BENCHMARK(update_tables)->ArgName("tokens")->Arg(4'096)->Arg(32'768)->UseManualTime();

}  // namespace
}  // namespace recto::cache::testing
