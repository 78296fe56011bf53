// Faults that other schedulers had, as far as they are about blocks: what a scheduler asks the
// block manager, and what it answers. Each under its id in docs/known-bugs.md.

#include <cstdint>
#include <vector>

#include "bazel/testing/catch.h"
#include "cuda/cache/batch_tables.h"
#include "cuda/cache/testing/checked_manager.h"

namespace recto::verify {
namespace {

using cache::SequenceHandle;
using cache::testing::CheckedManager;
using cache::testing::Handles;
using cache::testing::Ids;
using cache::testing::ids_from;
using cache::testing::Moved;
using cache::testing::prompt_of;
using cache::testing::small_options;

TEST_CASE("free-ratio-ignores-evictable: evictable blocks count as available") {
  CheckedManager cache(small_options(4));
  cache.visit(ids_from(0, 16));
  REQUIRE(cache.manager().states().free == TokenCount(0));
  CHECK(cache.available() == 4);
  const auto admitted = cache.try_admit(prompt_of(ids_from(50, 12)));
  REQUIRE(admitted.is_ok());
  cache.append(admitted.value().sequence, 12);
  CHECK(cache.try_append({admitted.value().sequence}).is_ok());
}

TEST_CASE("mtp-lookahead-deadlock: a sequence admitted with its lookahead can reserve it") {
  const std::int64_t lookahead = 2;
  CheckedManager cache(small_options(4));  // just two prompts of two blocks
  const auto first = cache.try_admit(prompt_of(ids_from(0, 8)), TokenCount(8 + lookahead));
  REQUIRE(first.is_ok());
  CHECK_FALSE(cache.try_admit(prompt_of(ids_from(50, 8)), TokenCount(8 + lookahead)).is_ok());
  cache.append(first.value().sequence, 8);
  cache.reserve(first.value().sequence, 8 + lookahead);
  CHECK(cache.view(first.value().sequence).capacity == TokenCount(12));
  CHECK(cache.available() == 1);
}

TEST_CASE("prefill-count-before-hit: a resumed sequence has as many tokens as its hit says") {
  for (std::int64_t length = 1; length <= 12; ++length) {
    CheckedManager cache(small_options(4));
    const SequenceHandle sequence = cache.computed(ids_from(0, length));
    CHECK(cache.preempt(sequence) == Status::ok());
    const Ids longer = ids_from(0, length + 1);
    const std::int64_t hit = cache.resume(sequence, longer).value().value();
    CHECK(hit == length / 4 * 4);  // its own blocks
    CHECK(cache.view(sequence).context_length.value() == hit);
    cache.append(sequence, length + 1 - hit);
    CHECK(cache.view(sequence).context_length.value() == length + 1);
    CHECK(cache.commit(sequence, longer) == Status::ok());
  }
}

TEST_CASE("recycle-repeated: a sequence gives its blocks back only once") {
  CheckedManager cache(small_options(6, 6));
  const SequenceHandle other = cache.computed(ids_from(50, 8));
  const SequenceHandle victim = cache.computed(ids_from(0, 12));
  CHECK(cache.preempt(victim) == Status::ok());
  CHECK(cache.available() == 4);
  CHECK(cache.view(victim).capacity == TokenCount(0));
  CHECK_FALSE(cache.preempt(victim).is_ok());
  const SequenceHandle next = cache.admit(ids_from(80, 12));  // in the victim's blocks
  CHECK(cache.available() == 1);
  CHECK(cache.release(victim) == Status::ok());
  CHECK(cache.available() == 1);
  CHECK_FALSE(cache.release(victim).is_ok());
  CHECK_FALSE(cache.preempt(victim).is_ok());
  CHECK(cache.view(next).capacity == TokenCount(12));
  CHECK(cache.table(other).size() == 2);
  CHECK(cache.release(next) == Status::ok());
  CHECK(cache.release(other) == Status::ok());
  CHECK(cache.available() == 6);
}

// A row of a batch's tables.
Ids row_of(const std::vector<std::int32_t>& buffer, std::int64_t row) {
  const auto begin = buffer.begin() + row * 8;
  return {begin, begin + 8};
}

// A sequence's table, padded to a row.
Ids padded(const std::vector<std::int32_t>& table) {
  Ids row(8, cache::kNoBlock.value());
  std::ranges::copy(table, row.begin());
  return row;
}

TEST_CASE("stale-computed-gpu-mirror: a batch's tables follow a context that becomes shorter") {
  CheckedManager cache(small_options(12, 12));
  std::vector<std::int32_t> buffer(2 * 8);
  cache::BatchTables tables =
      cache::BatchTables::create(cache.manager(), {.max_rows = 2}, buffer).value();
  const SequenceHandle sequence = cache.computed(ids_from(0, 20));
  CHECK(tables.assign(1, sequence) == Status::ok());
  const auto check = [&] {
    tables.update();
    CHECK(row_of(buffer, 0) == padded({}));
    CHECK(row_of(buffer, 1) == padded(cache.table(sequence)));
  };
  check();
  for (const std::int64_t length : {17, 13, 8, 3, 0}) {  // rollbacks
    CHECK(cache.truncate(sequence, length) == Status::ok());
    check();
    cache.admit(
        ids_from(static_cast<cache::TokenId>(100 + length), 1));  // takes what was given back
    cache.append(sequence, 3);
    check();
    CHECK(cache.truncate(sequence, length) == Status::ok());
    check();
  }
  cache.append(sequence, 6);
  check();
  CHECK(cache.preempt(sequence) == Status::ok());
  check();
  CHECK(cache.resume(sequence, ids_from(0, 6)).is_ok());
  cache.append(sequence, 1);
  check();
  CHECK(cache.complete(cache.swap_out({sequence}).handle) == Status::ok());
  check();
}

TEST_CASE(
    "swapin-ignores-unseen: a sequence that can be swapped in is, and can append its lookahead") {
  for (std::int64_t length = 1; length <= 9; ++length) {
    for (std::int64_t lookahead = 0; lookahead <= 5; ++lookahead) {
      for (std::int64_t others = 0; others <= 4; ++others) {
        CheckedManager cache(small_options(4, 4));
        const SequenceHandle sequence = cache.computed(ids_from(0, length));
        CHECK(cache.complete(cache.swap_out({sequence}).handle) == Status::ok());
        if (others > 0) cache.admit(ids_from(50, others * 4));
        const Handles handles = {sequence};
        const bool can = cache.manager().can_swap_in(handles, TokenCount(lookahead));
        const auto begun =
            cache.call([&](auto& m) { return m.swap_in(handles, TokenCount(lookahead)); });
        CHECK(begun.is_ok() == can);
        CHECK(can == ((length + lookahead + 3) / 4 <= 4 - others));
        if (!can) continue;
        CHECK(cache.call([&](auto& m) { return m.complete(begun.value().handle); }) ==
              Status::ok());
        CHECK(cache.try_append(sequence, lookahead).is_ok());
      }
    }
  }
}

TEST_CASE(
    "waiting-remote-break: a waiting sequence holds no block that the head of the queue needs") {
  CheckedManager cache(small_options(4, 8));
  const SequenceHandle preempted = cache.computed(ids_from(0, 16));
  CHECK(cache.preempt(preempted) == Status::ok());
  CHECK(cache.available() == 4);
  const SequenceHandle swapped = cache.computed(ids_from(20, 16));
  const Moved out = cache.swap_out({swapped});
  CHECK(cache.available() == 0);
  CHECK(cache.complete(out.handle) == Status::ok());
  CHECK(cache.available() == 4);
  const SequenceHandle head = cache.admit(ids_from(40, 16));
  CHECK(cache.release(head) == Status::ok());
  CHECK(cache.complete(cache.swap_in({swapped}).handle) == Status::ok());
  CHECK(cache.release(swapped) == Status::ok());
  CHECK(cache.resume(preempted, ids_from(0, 16)).is_ok());
}

// Four sequences with the same cached prompt, the last token of which is each one's own.
TEST_CASE(
    "zero-progress-preempt-cascade: each victim frees a block, though all share most blocks") {
  CheckedManager cache(small_options(6));
  cache.visit(ids_from(0, 8));
  Handles batch;
  for (int i = 0; i < 4; ++i) {
    batch.push_back(cache.admit(ids_from(0, 9)));
    cache.append(batch.back(), 4);  // its block is full
  }
  REQUIRE(cache.available() == 0);
  std::int64_t victims = 0;
  while (!cache.manager().can_append(batch)) {
    const std::int64_t before = cache.available();
    CHECK(cache.preempt(batch.back()) == Status::ok());
    batch.pop_back();
    ++victims;
    REQUIRE(cache.available() == before + 1);
  }
  CHECK(victims == 2);
  CHECK(cache.try_append(batch).is_ok());
}

}  // namespace
}  // namespace recto::verify
