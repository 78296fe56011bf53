// Faults of tables and slot mappings that others had, each under its id in docs/known-bugs.md.

#include <algorithm>
#include <cstdint>
#include <set>
#include <vector>

#include "bazel/testing/catch.h"
#include "cuda/cache/batch_tables.h"
#include "cuda/cache/slot_mapping.h"
#include "cuda/cache/testing/checked_manager.h"

namespace recto::verify {
namespace {

using cache::SequenceHandle;
using cache::testing::CheckedManager;
using cache::testing::Handles;
using cache::testing::ids_from;
using cache::testing::Moved;
using cache::testing::small_options;

constexpr std::int64_t kColumns = 8;

// A manager, and tables of a batch of up to four rows; the memory holds garbage before.
struct Batch {
  explicit Batch(std::int64_t num_blocks)
      : cache(small_options(num_blocks, num_blocks)),
        buffer(4 * kColumns, 77),
        tables(cache::BatchTables::create(cache.manager(), {.max_rows = 4}, buffer).value()) {}

  // The entries of a row, and what has to stand behind them.
  void check_row(std::int64_t row, const std::vector<std::int32_t>& table) const {
    INFO("row " << row);
    const auto begin = buffer.begin() + row * kColumns;
    const auto blocks = static_cast<std::ptrdiff_t>(table.size());
    CHECK(std::equal(table.begin(), table.end(), begin));
    CHECK(std::all_of(begin + blocks, begin + kColumns,
                      [](std::int32_t entry) { return entry == cache::kNoBlock.value(); }));
  }

  CheckedManager cache;
  std::vector<std::int32_t> buffer;  // [1, 4, kColumns]
  cache::BatchTables tables;
};

TEST_CASE("block-table-stale-tail: a row keeps no block of a longer sequence") {
  Batch batch(12);
  const SequenceHandle longer = batch.cache.computed(ids_from(0, 28));
  const SequenceHandle shorter = batch.cache.computed(ids_from(50, 6));
  CHECK(batch.tables.assign(0, longer) == Status::ok());
  CHECK(batch.tables.assign(3, shorter) == Status::ok());
  batch.tables.update();
  batch.check_row(0, batch.cache.table(longer));
  // The batch is made dense: the last row moves to where the first one was.
  CHECK(batch.cache.release(longer) == Status::ok());
  CHECK(batch.tables.clear(3) == Status::ok());
  CHECK(batch.tables.assign(0, shorter) == Status::ok());
  batch.tables.update();
  batch.check_row(0, batch.cache.table(shorter));
  batch.check_row(3, {});
  batch.cache.append(shorter, 5);
  batch.tables.update();
  batch.check_row(0, batch.cache.table(shorter));
}

TEST_CASE("cudagraph-metadata-not-padded: rows and slots beyond the batch are padding") {
  Batch batch(12);
  const SequenceHandle sequence = batch.cache.computed(ids_from(0, 9));
  CHECK(batch.tables.assign(1, sequence) == Status::ok());
  batch.tables.update();
  batch.check_row(0, {});
  batch.check_row(1, batch.cache.table(sequence));
  batch.check_row(2, {});
  batch.check_row(3, {});
  CHECK(batch.tables.view(0).num_seqs == 4);
  batch.cache.append(sequence, 1);
  std::vector<std::int64_t> slots(6, 33);
  const std::vector<cache::TokenRange> step = {{.sequence = sequence, .first = 9, .count = 1}};
  CHECK(cache::write_slot_mapping(batch.cache.manager(), 0, step, slots) == Status::ok());
  CHECK(slots[0] == batch.cache.table(sequence)[2] * 4 + 1);
  CHECK(std::count(slots.begin() + 1, slots.end(), cache::kNoSlot) == 5);
}

TEST_CASE("fa-splitkv-pass-block-oob-full: a full cache takes its last token, and none beyond it") {
  Batch batch(16);  // two sequences of eight blocks of four, and not a slot more
  const SequenceHandle first = batch.cache.admit(ids_from(0, 32));
  const SequenceHandle second = batch.cache.admit(ids_from(50, 32));
  const Handles both = {first, second};
  CHECK(batch.tables.assign(0, first) == Status::ok());
  CHECK(batch.tables.assign(1, second) == Status::ok());
  for (int token = 0; token < 32; ++token) {
    CHECK(batch.cache.try_append(both).is_ok());
    std::vector<std::int64_t> slots(2);
    const std::vector<cache::TokenRange> step = {{.sequence = first, .first = token, .count = 1},
                                                 {.sequence = second, .first = token, .count = 1}};
    CHECK(cache::write_slot_mapping(batch.cache.manager(), 0, step, slots) == Status::ok());
    CHECK((slots[0] >= 0 && slots[0] < 64 && slots[1] >= 0 && slots[1] < 64));
  }
  CHECK(batch.cache.manager().states().used == TokenCount(64));
  for (const std::int64_t more : {1, 2, 5}) {
    CHECK(batch.cache.try_append(first, more).status().code() == StatusCode::kInvalidInput);
  }
  CHECK(batch.cache.try_append(both).status().code() == StatusCode::kInvalidInput);
  batch.tables.update();
  batch.check_row(0, batch.cache.table(first));
  batch.check_row(1, batch.cache.table(second));
}

TEST_CASE("pad-slot-zero-live: padding of a slot mapping is -1, though slot 0 is in use") {
  Batch batch(4);
  const SequenceHandle owner = batch.cache.admit(ids_from(0, 4));
  batch.cache.append(owner, 4);
  REQUIRE(batch.cache.table(owner)[0] == 0);
  const SequenceHandle other = batch.cache.admit(ids_from(50, 4));
  batch.cache.append(other, 2);
  std::vector<std::int64_t> slots(8, 0);
  const std::vector<cache::TokenRange> step = {{.sequence = other, .first = 0, .count = 2}};
  CHECK(cache::write_slot_mapping(batch.cache.manager(), 0, step, slots) == Status::ok());
  CHECK(slots == std::vector<std::int64_t>{4, 5, -1, -1, -1, -1, -1, -1});
}

TEST_CASE("unified-cache-cross-seq-cells: rows and slots belong to the sequence that they name") {
  Batch batch(16);
  Handles owners;
  for (const cache::TokenId first : {0, 30, 60}) {
    owners.push_back(batch.cache.computed(ids_from(first, 10)));
  }
  // Rows are not in the order of the sequences' places.
  const std::vector<std::int32_t> rows = {2, 0, 1};
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(batch.tables.assign(rows[i], owners[i]) == Status::ok());
  }
  batch.tables.update();
  std::set<std::int64_t> written;
  for (std::size_t i = 0; i < 3; ++i) {
    batch.check_row(rows[i], batch.cache.table(owners[i]));
    batch.cache.append(owners[i], 6);
    std::vector<std::int64_t> slots(6);
    const std::vector<cache::TokenRange> step = {{.sequence = owners[i], .first = 10, .count = 6}};
    CHECK(cache::write_slot_mapping(batch.cache.manager(), 0, step, slots) == Status::ok());
    written.insert(slots.begin(), slots.end());
    for (const std::int64_t slot : slots) {
      for (std::size_t other = 0; other < 3; ++other) {
        const std::vector<std::int32_t> table = batch.cache.table(owners[other]);
        CHECK((std::ranges::find(table, slot / 4) != table.end()) == (other == i));
      }
    }
  }
  CHECK(written.size() == 18);
  batch.tables.update();
  for (std::size_t i = 0; i < 3; ++i) batch.check_row(rows[i], batch.cache.table(owners[i]));
}

TEST_CASE("offload-transfer-unsynced-reuse: a block that a running copy reads is not handed out") {
  Batch batch(4);
  const SequenceHandle victim = batch.cache.computed(ids_from(0, 12));
  const Moved out = batch.cache.swap_out({victim});
  std::set<std::int32_t> read;
  for (const cache::SwapCopy& copy : out.copies) read.insert(copy.device.value());
  REQUIRE(read.size() == 3);
  CHECK(batch.cache.available() == 1);
  const SequenceHandle next = batch.cache.admit(ids_from(50, 4));
  CHECK_FALSE(read.contains(batch.cache.table(next)[0]));
  CHECK_FALSE(batch.cache.try_append(next, 5).is_ok());
  CHECK(batch.cache.complete(out.handle) == Status::ok());
  CHECK(batch.cache.try_append(next, 5).is_ok());
  // On the way back the host's blocks are read.
  CHECK(batch.cache.release(next) == Status::ok());
  const Moved in = batch.cache.swap_in({victim});
  CHECK(batch.cache.manager().host_states().used == TokenCount(12));
  CHECK(batch.cache.complete(in.handle) == Status::ok());
  CHECK(batch.cache.manager().host_states().used == TokenCount(0));
}

}  // namespace
}  // namespace recto::verify
