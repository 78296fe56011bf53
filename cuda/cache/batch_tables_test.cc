#include "cuda/cache/batch_tables.h"

#include <algorithm>
#include <map>
#include <vector>

#include "bazel/testing/catch.h"
#include "core/random_stream.h"
#include "cuda/cache/testing/cache_scenario.h"
#include "cuda/cache/testing/cache_walk.h"
#include "cuda/cache/testing/checked_manager.h"

namespace recto::cache {
namespace {

using testing::CheckedManager;
using testing::Ids;
using testing::ids_from;
using testing::small_options;

using Row = std::vector<std::int32_t>;

// Tables for small_options: rows of 8 columns.
struct Tables {
  explicit Tables(const BlockManager& manager, std::int32_t max_rows = 3,
                  BlockId padding = kNoBlock)
      : Tables(manager, {.max_rows = max_rows, .padding = padding}) {}
  Tables(const BlockManager& manager, const BatchTableOptions& options)
      : buffer(
            static_cast<std::size_t>(std::ssize(manager.options().groups) * options.max_rows * 8),
            77),
        tables(BatchTables::create(manager, options, buffer).value()) {}

  std::int64_t update() {
    std::int64_t written = 0;
    for (const TableRange& range : tables.update()) written += range.count;
    return written;
  }
  Row row(std::int32_t row, std::int32_t group = 0) const {
    const BlockTableView view = tables.view(group, row, 1);
    return {view.data, view.data + view.max_blocks};
  }

  std::vector<std::int32_t> buffer;
  BatchTables tables;
};

TEST_CASE("rows hold padded block tables, and rows without a sequence are all padding") {
  CheckedManager cache(small_options(16));
  const SequenceHandle sequence = cache.admit(ids_from(1, 9));
  Tables batch(cache.manager());
  CHECK(batch.row(0) == Row(8, -1));
  CHECK(batch.tables.assign(1, sequence) == Status::ok());
  CHECK(batch.update() == 3);
  CHECK(batch.row(1) == Row{0, 1, 2, -1, -1, -1, -1, -1});
  CHECK(batch.row(0) == Row(8, -1));
  CHECK(batch.tables.row(1) == sequence);
  CHECK(batch.tables.row(0) == std::nullopt);
}

TEST_CASE("an update writes only the entries that changed") {
  CheckedManager cache(small_options(16));
  Tables batch(cache.manager());
  std::vector<SequenceHandle> sequences;
  for (std::int32_t i = 0; i < 3; ++i) {
    sequences.push_back(cache.admit(Ids{i}));
    cache.append(sequences.back(), 2 + i);
    CHECK(batch.tables.assign(i, sequences.back()) == Status::ok());
  }
  CHECK(batch.update() == 3);
  CHECK(batch.update() == 0);
  cache.append(sequences);
  CHECK(batch.update() == 1);  // the third sequence began a block
  CHECK(batch.row(2)[1] == cache.table(sequences[2])[1]);
  const SequenceHandle child = cache.fork(sequences[0]);
  cache.append({sequences[0]});  // copies its last block
  CHECK(batch.update() == 1);
  CHECK(batch.row(0)[0] == cache.table(sequences[0])[0]);
  CHECK(batch.row(0)[0] != cache.table(child)[0]);
}

TEST_CASE("a row keeps no block of a sequence that was released, cut back or replaced") {
  CheckedManager cache(small_options(16));
  Tables batch(cache.manager(), 2, BlockId(-1));
  const SequenceHandle first = cache.admit(Ids{1});
  cache.append(first, 20);
  CHECK(batch.tables.assign(0, first) == Status::ok());
  batch.update();
  CHECK(cache.truncate(first, 5) == Status::ok());
  CHECK(batch.update() == 3);
  CHECK(std::ranges::count(batch.row(0), -1) == 6);
  CHECK(cache.release(first) == Status::ok());
  CHECK(batch.tables.row(0) == std::nullopt);
  const SequenceHandle second = cache.admit(Ids{2});
  CHECK(second.index == first.index);
  CHECK(batch.tables.assign(0, second) == Status::ok());
  CHECK(batch.update() == 2);  // one block, and one column of padding
  CHECK(batch.row(0) == Row{cache.table(second)[0], -1, -1, -1, -1, -1, -1, -1});
  CHECK(batch.tables.clear(0) == Status::ok());
  CHECK(batch.update() == 1);
  CHECK(batch.row(0) == Row(8, -1));
}

TEST_CASE("blocks that a window has freed are padding in the table") {
  CacheOptions options = small_options(16);
  options.null_blocks = BlockCount(2);
  options.groups = {LayerGroup{}, LayerGroup{.num_layers = 1, .window = TokenCount(4)}};
  CheckedManager cache(options);
  Tables batch(cache.manager(), 2, BlockId(1));
  const SequenceHandle sequence = cache.admit(Ids{1});
  CHECK(batch.tables.assign(0, sequence) == Status::ok());
  for (int i = 0; i < 9; ++i) {
    cache.append({sequence});
    batch.update();
  }
  CHECK(batch.row(0, 1)[0] == 1);
  CHECK(batch.row(0, 1)[1] == cache.table(sequence, 1)[1]);
  CHECK(batch.row(0, 0)[0] == cache.table(sequence, 0)[0]);
  CHECK(batch.row(1, 1) == Row(8, 1));
}

TEST_CASE("a view covers existing rows, and asking for others breaks the contract") {
  CacheOptions options = small_options(16);
  options.groups = {LayerGroup{}, LayerGroup{}};
  CheckedManager cache(options);
  const Tables batch(cache.manager());
  const BlockTableView all = batch.tables.view(1);
  CHECK((all.num_seqs == 3 && all.max_blocks == 8 && all.row_stride == 8));
  CHECK(all.data == batch.buffer.data() + 3 * 8);
  CHECK(batch.tables.view(1, 2, 1).data == all.data + 2 * 8);
  CHECK(batch.tables.view(1, 2, 1).num_seqs == 1);
  CHECK(batch.tables.view(1, 3, 0).num_seqs == 0);
  CHECK_THROWS_AS(batch.tables.view(1, 2, 2), ContractFailure);
  CHECK_THROWS_AS(batch.tables.view(1, 4, 0), ContractFailure);
  CHECK_THROWS_AS(batch.tables.view(1, -1, 1), ContractFailure);
  CHECK_THROWS_AS(batch.tables.view(1, 0, -1), ContractFailure);
  CHECK_THROWS_AS(batch.tables.view(2), ContractFailure);
}

TEST_CASE("tables that have missed many changes are updated in full") {
  CheckedManager cache(small_options(16));
  Tables batch(cache.manager());
  const SequenceHandle sequence = cache.admit(Ids{1});
  const SequenceHandle other = cache.admit(Ids{2});
  CHECK(batch.tables.assign(0, sequence) == Status::ok());
  CHECK(batch.tables.assign(1, other) == Status::ok());
  batch.update();
  for (int i = 0; i < 100; ++i) {
    cache.append(sequence, 9);
    CHECK(cache.truncate(sequence, 0) == Status::ok());
  }
  cache.append(sequence, 5);
  CHECK(cache.release(other) == Status::ok());
  batch.update();
  CHECK(batch.row(0)[1] == cache.table(sequence)[1]);
  CHECK(batch.row(1) == Row(8, -1));
}

TEST_CASE("invalid rows, sequences, buffers and padding are refused by name") {
  CacheOptions options = small_options(16);
  options.null_blocks = BlockCount(1);
  CheckedManager cache(options);
  const SequenceHandle a = cache.admit(Ids{1});
  const SequenceHandle b = cache.admit(Ids{2});
  Tables batch(cache.manager());
  CHECK(batch.tables.assign(3, a) == Status::invalid_input("assign: row 3; expected 0 to 2"));
  CHECK(batch.tables.clear(-1).code() == StatusCode::kInvalidInput);
  CHECK(batch.tables.assign(0, a) == Status::ok());
  CHECK(batch.tables.assign(0, a) == Status::ok());
  CHECK(batch.tables.assign(0, b) ==
        Status::invalid_input("assign: row 0 belongs to sequence 0 (generation 1)"));
  CHECK(batch.tables.assign(1, a) ==
        Status::invalid_input("assign: sequence 0 (generation 1) has row 0"));
  CHECK(cache.release(a) == Status::ok());
  CHECK(batch.tables.assign(1, a) ==
        Status::invalid_input("assign: sequence 0 (generation 1) was released"));
  CHECK(batch.tables.assign(0, b) == Status::ok());  // its sequence has been released

  std::vector<std::int32_t> buffer(25);
  const auto refusal = [&](const BatchTableOptions& tables, std::size_t size) {
    return BatchTables::create(cache.manager(), tables, std::span(buffer).first(size)).status();
  };
  CHECK(refusal({.max_rows = 3, .padding = BlockId(0)}, 24) == Status::ok());
  CHECK(refusal({.max_rows = 3, .padding = BlockId(0)}, 25) ==
        Status::invalid_input("batch tables: buffer of 25 entries; expected 3 rows of 8"));
  CHECK(refusal({.max_rows = 2, .padding = BlockId(0)}, 24).code() == StatusCode::kInvalidInput);
  CHECK(refusal({.max_rows = 0, .padding = BlockId(0)}, 0).code() == StatusCode::kInvalidInput);
  CHECK(
      refusal({.max_rows = 3, .padding = BlockId(1)}, 24) ==
      Status::invalid_input("batch tables: padding = 1; expected -1, or one of the 1 null blocks"));
}

TEST_CASE("a sequence has a row for each of its queries, if it may have several") {
  CheckedManager cache(small_options(16));
  Tables batch(cache.manager(), {.max_rows = 4, .rows_of_sequence = RowsOfSequence::kSeveral});
  const SequenceHandle first = cache.admit(Ids{1});
  const SequenceHandle other = cache.admit(Ids{2});
  cache.append(first, 5);
  for (const std::int32_t row : {0, 1, 3}) CHECK(batch.tables.assign(row, first) == Status::ok());
  CHECK(batch.tables.assign(2, other) == Status::ok());
  CHECK(batch.tables.assign(1, other).code() == StatusCode::kInvalidInput);
  batch.update();
  const auto expect_rows_of = [&](SequenceHandle sequence,
                                  std::initializer_list<std::int32_t> rows) {
    Row expected(8, -1);
    std::ranges::copy(cache.table(sequence), expected.begin());
    for (const std::int32_t row : rows) CHECK(batch.row(row) == expected);
  };
  expect_rows_of(first, {0, 1, 3});
  expect_rows_of(other, {2});
  cache.append(first, 5);
  CHECK(batch.tables.clear(1) == Status::ok());
  batch.update();
  expect_rows_of(first, {0, 3});
  CHECK(batch.row(1) == Row(8, -1));
  CHECK(cache.release(first) == Status::ok());
  const SequenceHandle next = cache.admit(Ids{3});
  CHECK(next.index == first.index);
  CHECK(batch.tables.assign(1, next) == Status::ok());
  batch.update();
  expect_rows_of(next, {1});
  for (const std::int32_t row : {0, 3}) CHECK(batch.row(row) == Row(8, -1));
}

void check_rows(const BlockManager& manager, const BatchTables& tables, std::int32_t max_rows) {
  const std::int64_t columns = manager.options().max_blocks_per_sequence.value();
  for (std::int32_t group = 0; group < std::ssize(manager.options().groups); ++group) {
    for (std::int32_t i = 0; i < max_rows; ++i) {
      Row expected(static_cast<std::size_t>(columns), -1);
      if (const auto sequence = tables.row(i)) {
        std::ranges::transform(manager.block_table(*sequence, group).value(), expected.begin(),
                               &BlockId::value);
      }
      const std::int32_t* begin = tables.view(group, i, 1).data;
      REQUIRE(Row(begin, begin + columns) == expected);
    }
  }
}

// Compares updated tables with a complete rewrite, after random operations.
TEST_CASE("after any history each row equals its sequence's block table") {
  testing::Coverage coverage;
  for (std::uint64_t seed = 1; seed <= 120; ++seed) {
    const auto rows = seed <= 60 ? RowsOfSequence::kOne : RowsOfSequence::kSeveral;
    RandomStream stream(seed);
    const testing::CacheScenario scenario = testing::draw_scenario(stream, {.commands_max = 240});
    testing::CacheWalk walk(scenario.options, scenario.alphabet, coverage);
    const BlockManager& manager = walk.manager();
    const std::int64_t columns = manager.options().max_blocks_per_sequence.value();
    const std::int64_t groups = std::ssize(manager.options().groups);
    std::vector<std::int32_t> buffer(static_cast<std::size_t>(groups * 4 * columns));
    BatchTables tables =
        BatchTables::create(manager, {.max_rows = 4, .rows_of_sequence = rows}, buffer).value();
    for (const testing::CacheCommand& command : scenario.commands) {
      INFO("seed " << seed << ", after" << walk.log());
      walk.run(command);
      const auto row = static_cast<std::int32_t>(stream.next_below(4));
      if (stream.next_below(8) == 0) CHECK(tables.clear(row) == Status::ok());
      if (!walk.actors().empty()) {  // may be refused: the row or the sequence is taken
        const std::size_t index = stream.next_below(walk.actors().size());
        static_cast<void>(tables.assign(row, walk.actors()[index].handle));
      }
      if (stream.next_below(3) != 0) continue;
      tables.update();
      check_rows(manager, tables, 4);
    }
  }
}

}  // namespace
}  // namespace recto::cache
