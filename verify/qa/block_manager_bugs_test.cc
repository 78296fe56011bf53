// Faults that other block managers had, each under its id in docs/known-bugs.md.

#include <algorithm>
#include <cstdint>
#include <set>
#include <vector>

#include "bazel/testing/catch.h"
#include "cuda/cache/slot_mapping.h"
#include "cuda/cache/testing/checked_manager.h"

namespace recto::verify {
namespace {

using cache::CacheOptions;
using cache::SequenceHandle;
using cache::testing::CheckedManager;
using cache::testing::Handles;
using cache::testing::Ids;
using cache::testing::ids_from;
using cache::testing::Moved;
using cache::testing::prompt_of;
using cache::testing::small_options;

// The blocks of a table that are there.
std::set<std::int32_t> held_blocks(const CheckedManager& cache, SequenceHandle sequence) {
  const std::vector<std::int32_t> table = cache.table(sequence);
  std::set<std::int32_t> held(table.begin(), table.end());
  held.erase(cache::kNoBlock.value());
  return held;
}

bool is_disjoint(const std::set<std::int32_t>& a, const std::set<std::int32_t>& b) {
  return std::ranges::none_of(a, [&](std::int32_t block) { return b.contains(block); });
}

// A sequence that waits in host memory.
SequenceHandle swapped(CheckedManager& cache, const Ids& ids) {
  const SequenceHandle sequence = cache.computed(ids);
  CHECK(cache.complete(cache.swap_out({sequence}).handle) == Status::ok());
  return sequence;
}

TEST_CASE(
    "abort-inflight-load-free: blocks that are being loaded stay until the copies are complete") {
  for (const bool is_aborted_first : {true, false}) {
    CheckedManager cache(small_options(4, 4));
    const SequenceHandle aborted = swapped(cache, ids_from(0, 12));
    cache.reset();
    const Moved loading = cache.swap_in({aborted});
    std::set<std::int32_t> written;
    for (const cache::SwapCopy& copy : loading.copies) written.insert(copy.device.value());
    REQUIRE(written.size() == 3);
    if (is_aborted_first) {
      CHECK(cache.release(aborted) == Status::ok());
      CHECK(cache.available() == 1);
      const SequenceHandle other = cache.admit(ids_from(50, 4));
      CHECK(is_disjoint(held_blocks(cache, other), written));
      CHECK_FALSE(cache.try_admit(prompt_of(ids_from(70, 4))).is_ok());
      CHECK(cache.release(other) == Status::ok());
    }
    CHECK(cache.complete(loading.handle) == Status::ok());
    if (!is_aborted_first) CHECK(cache.release(aborted) == Status::ok());
    CHECK(cache.available() == 4);
    CHECK(cache.manager().host_states().free == TokenCount(16));
    CHECK_FALSE(cache.complete(loading.handle).is_ok());
  }
}

TEST_CASE("cache-blocks-when-disabled: a manager without prefix caching remembers no block") {
  CacheOptions options = small_options(4);
  options.prefix.caching = cache::PrefixCaching::kOff;
  CheckedManager cache(options);
  for (int i = 0; i < 100; ++i) {  // every block is used 75 times
    cache.visit(ids_from(i % 3, 12));
    CHECK(cache.hit(ids_from(i % 3, 13)) == 0);
    CHECK(cache.manager().states().free == TokenCount(16));
  }
  CHECK(cache.manager().statistics() == cache::CacheStatistics{});
}

TEST_CASE("can-allocate-window-mismatch: an admitted prompt fits, also with a window") {
  for (std::int64_t blocks = 1; blocks <= 7; ++blocks) {
    for (std::int64_t length = 1; length <= 32; ++length) {
      CacheOptions options = small_options(blocks);
      options.groups = {{.num_layers = 1, .window = TokenCount(4)}};
      CheckedManager cache(options);  // try_admit holds answer and forecast against each other
      const auto admitted = cache.try_admit(prompt_of(ids_from(0, length)));
      CHECK(admitted.is_ok() == (length <= blocks * 4));
      if (!admitted.is_ok()) continue;
      CHECK(cache.try_append(admitted.value().sequence, length).is_ok());
    }
  }
}

TEST_CASE("evict-without-ref-check: referenced blocks are not evicted") {
  CheckedManager cache(small_options(4));
  cache.visit(ids_from(0, 8));
  const SequenceHandle reader = cache.admit(ids_from(0, 9));  // of what was the oldest
  const std::set<std::int32_t> read = held_blocks(cache, reader);
  CHECK(cache.available() == 1);
  const SequenceHandle other = cache.admit(ids_from(90, 4));
  CHECK(is_disjoint(held_blocks(cache, other), read));
  CHECK(cache.available() == 0);
  CHECK_FALSE(cache.try_admit(prompt_of(ids_from(70, 1))).is_ok());
  CHECK(held_blocks(cache, reader) == read);
}

TEST_CASE("free-counter-after-swap: free, used and cached slots add up to the pool in both tiers") {
  CheckedManager cache(small_options(4, 4));
  cache.check_conservation();
  cache.visit(ids_from(0, 16));
  CHECK(cache.manager().states().cached == TokenCount(16));
  cache.check_conservation();
  const SequenceHandle evicts = cache.computed(ids_from(50, 10));
  CHECK(cache.manager().states().cached == TokenCount(4));
  CHECK(cache.manager().states().free == TokenCount(0));
  cache.check_conservation();
  const Moved out = cache.swap_out({evicts});
  cache.check_conservation();
  CHECK(cache.complete(out.handle) == Status::ok());
  CHECK(cache.manager().host_states().used == TokenCount(10));
  cache.check_conservation();
  cache.reset();
  CHECK(cache.manager().states().free == TokenCount(16));
  cache.check_conservation();
  CHECK(cache.complete(cache.swap_in({evicts}).handle) == Status::ok());
  cache.check_conservation();
  CHECK(cache.manager().states().used == TokenCount(10));
  CHECK(cache.manager().host_states().free == TokenCount(16));
}

// What is done to a sequence before it is aborted.
using Stage = void (*)(CheckedManager& cache, SequenceHandle sequence);

const std::vector<Stage>& stages() {
  static const std::vector<Stage> kStages = {
      [](CheckedManager&, SequenceHandle) {},
      [](CheckedManager& cache, SequenceHandle s) { cache.reserve(s, 14); },
      [](CheckedManager& cache, SequenceHandle s) { cache.append(s, 5); },
      [](CheckedManager& cache, SequenceHandle s) {
        cache.append(s, 5);
        CHECK(cache.commit(s, ids_from(0, 12)) == Status::ok());
      },
      [](CheckedManager& cache, SequenceHandle s) { CHECK(cache.preempt(s) == Status::ok()); },
      [](CheckedManager& cache, SequenceHandle s) {
        CHECK(cache.preempt(s) == Status::ok());
        CHECK(cache.resume(s, ids_from(0, 12)).is_ok());
      },
      [](CheckedManager& cache, SequenceHandle s) {
        cache.append(s, 5);
        CHECK(cache.complete(cache.swap_out({s}).handle) == Status::ok());
      },
  };
  return kStages;
}

TEST_CASE("orphan-blocks-leak: an aborted sequence keeps no block, and leaves only computed ones") {
  for (std::size_t stage = 0; stage < stages().size(); ++stage) {
    INFO("stage " << stage);
    CheckedManager cache(small_options(5, 5));
    const SequenceHandle aborted = cache.admit(ids_from(0, 12));
    stages()[stage](cache, aborted);
    const std::int64_t computed = stage == 3 ? 4 : 0;  // of the 5 tokens, one block
    CHECK(cache.hit(ids_from(0, 13)) == computed);
    CHECK(cache.release(aborted) == Status::ok());
    CHECK(cache.available() == 5);
    CHECK(cache.manager().num_sequences() == 0);
    CHECK(cache.manager().states().cached == TokenCount(computed));
    CHECK(cache.manager().host_states().free == TokenCount(20));
    CHECK(cache.hit(ids_from(0, 13)) == computed);
  }
}

TEST_CASE("pin-without-claim-ghost-free: a block that is hit is no longer evictable") {
  CheckedManager cache(small_options(4));
  cache.visit(ids_from(0, 12));
  CHECK(cache.manager().states().cached == TokenCount(12));
  const SequenceHandle first = cache.admit(ids_from(0, 12));  // two blocks, and a new one
  CHECK(cache.manager().states().cached == TokenCount(4));
  CHECK(cache.manager().states().free == TokenCount(0));
  const SequenceHandle last = cache.admit(ids_from(50, 4));
  CHECK(is_disjoint(held_blocks(cache, first), held_blocks(cache, last)));
  CHECK(cache.available() == 0);
  CHECK(cache.release(first) == Status::ok());
  CHECK(cache.available() == 3);
  const SequenceHandle next = cache.admit(ids_from(70, 12));
  CHECK(held_blocks(cache, next).size() == 3);
  CHECK(is_disjoint(held_blocks(cache, next), held_blocks(cache, last)));
}

TEST_CASE("refork-already-separate-seq: a beam that continues keeps its own blocks") {
  CheckedManager cache(small_options(8));
  const SequenceHandle parent = cache.computed(ids_from(0, 6));
  const SequenceHandle child = cache.fork(parent);
  cache.append({parent, child});  // one of them gets a block of its own
  REQUIRE(cache.table(parent)[1] != cache.table(child)[1]);
  const std::vector<std::vector<std::int32_t>> tables = {cache.table(parent), cache.table(child)};
  for (int step = 0; step < 3; ++step) {
    const Handles parents = {parent, child};
    const std::vector<std::int32_t> parent_of = {0, 1};
    const auto beams =
        cache.call([&](cache::BlockManager& m) { return m.beam_step(parents, parent_of); }).value();
    CHECK(Handles(beams.begin(), beams.end()) == parents);
    CHECK(cache.table(parent) == tables[0]);
    CHECK(cache.table(child) == tables[1]);
    CHECK(cache.manager().num_sequences() == 2);
    CHECK(cache.available() == 5);
  }
}

TEST_CASE("remote-load-abort-leak: an aborted transfer frees its blocks, whatever the order") {
  for (const bool is_inward : {false, true}) {
    for (const bool is_all_aborted : {false, true}) {
      CheckedManager cache(small_options(6, 6));
      const SequenceHandle first = cache.computed(ids_from(0, 10));
      const SequenceHandle second = cache.fork(first);
      Moved moving = cache.swap_out({first, second});
      if (is_inward) {
        CHECK(cache.complete(moving.handle) == Status::ok());
        moving = cache.swap_in({first, second});
      }
      CHECK(cache.release(first) == Status::ok());
      if (is_all_aborted) CHECK(cache.release(second) == Status::ok());
      CHECK(cache.complete(moving.handle) == Status::ok());
      if (!is_all_aborted) CHECK(cache.release(second) == Status::ok());
      CHECK(cache.available() == 6);
      CHECK(cache.manager().num_sequences() == 0);
      CHECK(cache.manager().host_states().free == TokenCount(24));
    }
  }
}

TEST_CASE("spec-lookahead-not-reserved: each reserved position has a block") {
  for (std::int64_t context = 1; context <= 12; ++context) {
    for (std::int64_t lookahead = 1; lookahead <= 6; ++lookahead) {
      CheckedManager cache(small_options(8));
      const SequenceHandle sequence = cache.computed(ids_from(0, context));
      cache.reserve(sequence, context + lookahead);
      CHECK(cache.view(sequence).capacity.value() >= context + lookahead);
      std::vector<std::int64_t> slots(static_cast<std::size_t>(lookahead));
      const std::vector<cache::TokenRange> drafts = {
          {.sequence = sequence, .first = context, .count = lookahead}};
      CHECK(cache::write_slot_mapping(cache.manager(), 0, drafts, slots) == Status::ok());
      const std::vector<std::int32_t> table = cache.table(sequence);
      for (std::int64_t i = 0; i < lookahead; ++i) {
        const std::int64_t at = context + i;
        CHECK(slots[static_cast<std::size_t>(i)] ==
              table[static_cast<std::size_t>(at / 4)] * 4 + at % 4);
      }
    }
  }
}

// Every length about the edges of blocks, and windows beside multiples of a block.
TEST_CASE("swa-remove-skipped-off: a block is kept as long as one of its keys is visible") {
  for (std::int64_t window = 1; window <= 10; ++window) {
    CacheOptions options = small_options(8);
    options.groups = {{.num_layers = 1, .window = TokenCount(window)}};
    CheckedManager cache(options);
    const SequenceHandle sequence = cache.admit(ids_from(0, 1));
    for (std::int64_t length = 1; length <= 31; ++length) {
      const std::int64_t row = length - 1;  // the one that this step computes
      cache.append(sequence, 1);
      const std::vector<std::int32_t> table = cache.table(sequence);
      for (std::int64_t key = 0; key < length; ++key) {
        INFO("window " << window << ", row " << row << ", key " << key);
        const bool is_there = table[static_cast<std::size_t>(key / 4)] != cache::kNoBlock.value();
        if (key > row - window) CHECK(is_there);
        const bool is_block_unseen = key / 4 * 4 + 3 <= row - window;
        if (is_block_unseen) CHECK_FALSE(is_there);
      }
    }
  }
}

TEST_CASE("touch-before-capacity-check: a prompt that does not fit leaves no reference") {
  for (const bool is_live : {false, true}) {
    CheckedManager cache(small_options(4));
    const SequenceHandle owner = cache.computed(ids_from(0, 8));
    if (!is_live) CHECK(cache.release(owner) == Status::ok());
    const std::string before = cache::testing::state_text(cache.manager());
    for (int i = 0; i < 3; ++i) {
      CHECK(cache.try_admit(prompt_of(ids_from(0, 20))).status().code() == StatusCode::kExhausted);
    }
    CHECK(cache::testing::state_text(cache.manager()) == before);
    if (is_live) CHECK(cache.release(owner) == Status::ok());
    CHECK(cache.available() == 4);
    CHECK(cache.admit(prompt_of(ids_from(0, 16))).hit == TokenCount(8));
  }
}

}  // namespace
}  // namespace recto::verify
