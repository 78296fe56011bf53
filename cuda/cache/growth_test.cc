#include <limits>
#include <vector>

#include "bazel/testing/catch.h"
#include "cuda/cache/cache_core.h"
#include "cuda/cache/testing/checked_manager.h"

namespace recto::cache {
namespace {

using testing::CheckedManager;
using testing::Ids;
using testing::ids_from;
using testing::prompt_of;
using testing::small_options;

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

std::vector<std::int32_t> destinations(const std::vector<BlockCopy>& copies) {
  std::vector<std::int32_t> blocks;
  for (const BlockCopy& copy : copies) blocks.push_back(copy.destination.value());
  return blocks;
}

TEST_CASE("tokens go into the last block, and into a new one when it is full") {
  CheckedManager cache(small_options(4));
  const SequenceHandle sequence = cache.admit(Ids{1});
  for (int i = 0; i < 4; ++i) CHECK(cache.append(sequence, 1).empty());
  CHECK(cache.table(sequence).size() == 1);
  CHECK(cache.append({sequence}).empty());
  CHECK(cache.table(sequence).size() == 2);
  cache.append(sequence, 9);
  CHECK(cache.table(sequence).size() == 4);
  CHECK(cache.view(sequence).context_length == TokenCount(14));
}

TEST_CASE("an append serves all sequences of a batch, or none") {
  CheckedManager cache(small_options(3));
  const SequenceHandle full = cache.admit(ids_from(1, 4));
  const SequenceHandle open = cache.admit(ids_from(11, 3));
  const SequenceHandle other = cache.admit(ids_from(21, 4));
  cache.append(full, 4);
  cache.append(open, 3);
  cache.append(other, 4);
  const auto refused = cache.try_append(std::vector{open, full});
  CHECK(refused.status() ==
        Status::exhausted("append: needs 1 new blocks and 0 for copies, and gives 0 back; there "
                          "are 0 free and 0 evictable"));
  CHECK(cache.view(open).context_length == TokenCount(3));
  CHECK(cache.append({open}).empty());
  CHECK(cache.release(other) == Status::ok());
  CHECK(cache.append({full}).empty());
}

TEST_CASE("a sequence listed twice in a batch is refused, with and without a new block") {
  CheckedManager cache(small_options(8));
  const SequenceHandle sequence = cache.admit(ids_from(1, 4));
  const auto refused = cache.try_append(std::vector{sequence, sequence});
  CHECK(refused.status() ==
        Status::invalid_input("append: sequence 0 (generation 1) stands twice"));
  cache.append(sequence, 4);  // the next token needs a block
  CHECK(cache.try_append(std::vector{sequence, sequence}).status().code() ==
        StatusCode::kInvalidInput);
  CHECK(cache.append({sequence}).empty());
}

TEST_CASE("appending an empty batch or no tokens changes nothing") {
  CheckedManager cache(small_options(8));
  const SequenceHandle sequence = cache.admit(ids_from(1, 4));
  CHECK(cache.append(std::vector<SequenceHandle>{}).empty());
  CHECK(cache.append(sequence, 0).empty());
  CHECK(cache.view(sequence).context_length == TokenCount(0));
}

TEST_CASE("an append reaches the last slot of a table, and is refused beyond it") {
  CheckedManager cache(small_options(16));
  const SequenceHandle sequence = cache.admit(Ids{1});
  cache.append(sequence, 31);
  CHECK(cache.try_append(sequence, 2).status() ==
        Status::invalid_input("append: context of 31 tokens and 2 more; expected 0 to 1, up to the "
                              "32 of a block table"));
  CHECK(cache.append({sequence}).empty());
  CHECK(cache.try_append(std::vector{sequence}).status().code() == StatusCode::kInvalidInput);
  CHECK(cache.try_append(sequence, kMost).status().code() == StatusCode::kInvalidInput);
  CHECK(cache.try_append(sequence, -1).status().code() == StatusCode::kInvalidInput);
  CHECK(cache.try_append(sequence, std::numeric_limits<std::int64_t>::min()).status().code() ==
        StatusCode::kInvalidInput);
}

TEST_CASE("lookahead blocks are held and not used, and appends fill them") {
  CheckedManager cache(small_options(8));
  const SequenceHandle sequence = cache.admit(Ids{1});
  cache.append(sequence, 3);
  const auto reserve = [&](std::int64_t length) {
    return cache.call([&](BlockManager& m) { return m.reserve(sequence, TokenCount(length)); });
  };
  CHECK(reserve(9).is_ok());
  CHECK(cache.table(sequence).size() == 3);
  CHECK(cache.manager().states().used == TokenCount(3));
  CHECK(cache.manager().states().held_empty == TokenCount(9));
  CHECK(reserve(2).value().empty());  // the context is already longer
  CHECK(cache.table(sequence).size() == 3);
  cache.append(sequence, 6);
  CHECK(cache.table(sequence).size() == 3);
  CHECK(reserve(32).status().is_ok());
  CHECK(reserve(33).status() ==
        Status::invalid_input("reserve: length 33; expected 0 to the 32 of a block table"));
  CHECK(reserve(-1).status().code() == StatusCode::kInvalidInput);
  CHECK(reserve(kMost).status().code() == StatusCode::kInvalidInput);
}

// The slow path gives the same results, so only this test and the time reveal the fast path.
TEST_CASE("the fast path of appends lasts to the end of a sequence's blocks, or to a fork") {
  CheckedManager cache(small_options(8));
  const SequenceHandle sequence = cache.admit(Ids{1});
  const auto run_end = [&] {
    return CacheCore::of(cache.manager()).sequences[sequence.index].run_end;
  };
  cache.append(sequence, 1);
  CHECK(run_end() == 4);
  cache.append({sequence});
  CHECK(run_end() == 4);
  cache.append(sequence, 3);
  CHECK(run_end() == 8);
  cache.reserve(sequence, 16);
  CHECK(run_end() == 16);
  cache.fork(sequence);
  CHECK(run_end() == 5);  // the next token needs a copy of the block that it goes into
}

TEST_CASE("a write into a shared block copies it first, unless the other holders have left") {
  CheckedManager cache(small_options(8));
  const SequenceHandle a = cache.admit(Ids{1});
  cache.append(a, 6);
  const SequenceHandle b = cache.fork(a);
  const SequenceHandle c = cache.fork(a);
  const std::int32_t shared = cache.table(a)[1];
  const std::vector<BlockCopy> copies = cache.append({b, a, c});
  REQUIRE(copies.size() == 2);
  for (const BlockCopy& copy : copies) {
    CHECK(copy.source == BlockId(shared));
    CHECK(copy.slots == TokenCount(2));
    CHECK(copy.destination != copy.source);
  }
  CHECK(copies[0].destination != copies[1].destination);
  CHECK(destinations(copies) == std::vector{cache.table(b)[1], cache.table(a)[1]});
  CHECK(cache.table(c)[1] == shared);
  CHECK(cache.table(a)[0] == cache.table(c)[0]);
}

TEST_CASE("a copy needs a free block, and without one no sequence of the batch appends") {
  CheckedManager cache(small_options(2));
  const SequenceHandle a = cache.admit(Ids{1});
  cache.append(a, 3);
  const SequenceHandle b = cache.fork(a);
  const SequenceHandle c = cache.fork(a);
  CHECK(cache.try_append(std::vector{a, b, c}).status() ==
        Status::exhausted("append: needs 0 new blocks and 2 for copies, and gives 0 back; there "
                          "are 1 free and 0 evictable"));
  CHECK(cache.append({a}).size() == 1);
  CHECK(cache.release(b) == Status::ok());
  CHECK(cache.append({c}).empty());  // the only holder by now
}

TEST_CASE("reserve copies a shared block, since lookahead is written before it is accepted") {
  CheckedManager cache(small_options(8));
  const SequenceHandle a = cache.admit(Ids{1});
  cache.append(a, 2);
  const SequenceHandle b = cache.fork(a);
  CHECK(cache.reserve(b, 4).size() == 1);
  CHECK(cache.table(a)[0] != cache.table(b)[0]);
  CHECK(cache.append({a, b}).empty());
}

TEST_CASE("an overwritten cached block is no longer a hit") {
  CheckedManager cache(small_options(8));
  const SequenceHandle sequence = cache.computed(ids_from(1, 8));
  CHECK(cache.truncate(sequence, 6) == Status::ok());
  CHECK(cache.hit(ids_from(1, 9)) == 8);  // unchanged
  CHECK(cache.append({sequence}).empty());
  CHECK(cache.hit(ids_from(1, 9)) == 4);
  CHECK(cache.manager().statistics().overwritten == 1);
}

TEST_CASE("a block that other sequences hold is copied before a write, and stays as it was") {
  CheckedManager cache(small_options(8));
  const SequenceHandle sequence = cache.computed(ids_from(1, 8));
  const SequenceHandle other = cache.admit(ids_from(1, 9));
  CHECK(cache.truncate(sequence, 6) == Status::ok());
  const std::vector<BlockCopy> copies = cache.append({sequence});
  REQUIRE(copies.size() == 1);
  CHECK(copies[0].source.value() == cache.table(other)[1]);
  CHECK(copies[0].slots == TokenCount(2));
  CHECK(cache.hit(ids_from(1, 9)) == 8);
}

TEST_CASE("a pinned block is copied before a write, though no other sequence holds it") {
  CheckedManager cache(small_options(8));
  const Ids ids = ids_from(1, 8);
  const SequenceHandle sequence = cache.computed(ids);
  const auto pinned = cache.call([&](BlockManager& m) { return m.pin(prompt_of(ids)); });
  CHECK(pinned.value().length == TokenCount(8));
  CHECK(cache.truncate(sequence, 6) == Status::ok());
  CHECK(cache.append({sequence}).size() == 1);
  CHECK(cache.hit(ids_from(1, 9)) == 8);
  CHECK(cache.manager().states().pinned == TokenCount(4));
}

TEST_CASE("appends of two holders separate a shared block that one was cut back into") {
  CheckedManager cache(small_options(8));
  const SequenceHandle a = cache.admit(Ids{1});
  cache.append(a, 8);
  const SequenceHandle b = cache.fork(a);
  CHECK(cache.truncate(a, 5) == Status::ok());
  CHECK(cache.manager().states().used == TokenCount(8));
  CHECK(cache.append({a, b}).size() == 1);  // the other sequence begins a block
  CHECK(cache.table(a)[1] != cache.table(b)[1]);
  CHECK(cache.manager().states().used == TokenCount(4 + 4 + 2 + 1));
}

TEST_CASE("a window frees the blocks that no row sees before it takes a new one") {
  CacheOptions options = small_options(2);
  options.groups = {LayerGroup{.num_layers = 1, .window = TokenCount(3)}};
  CheckedManager cache(options);
  const SequenceHandle sequence = cache.admit(Ids{1});
  for (int i = 0; i < 32; ++i) CHECK(cache.append({sequence}).empty());  // two blocks are enough
  CHECK(cache.table(sequence).size() == 8);
  CHECK(cache.table(sequence)[6] == -1);
  CHECK(cache.manager().states().used == TokenCount(2));
}

TEST_CASE("a chunk keeps the blocks that its first row sees") {
  CacheOptions options = small_options(8);
  options.groups = {LayerGroup{.num_layers = 1, .window = TokenCount(4)}};
  CheckedManager cache(options);
  const SequenceHandle sequence = cache.admit(Ids{1});
  cache.append(sequence, 10);
  cache.append(sequence, 10);  // the row at 10 sees tokens from 7 on
  CHECK(cache.table(sequence) == std::vector<std::int32_t>{-1, 1, 2, 0, 3});
  cache.append(sequence, 1);  // the row at 20 sees tokens from 17 on
  CHECK(cache.table(sequence)[3] == -1);
  CHECK(cache.table(sequence)[4] >= 0);
}

TEST_CASE("a block that siblings drop in one append is available to them") {
  CacheOptions options = small_options(3);
  options.groups = {LayerGroup{.num_layers = 1, .window = TokenCount(2)}};
  CheckedManager cache(options);
  const SequenceHandle a = cache.admit(Ids{1});
  cache.append(a, 8);
  const SequenceHandle b = cache.fork(a);
  // Both drop block 0 and begin a block: two blocks are needed; one is free and one is returned.
  REQUIRE(cache.available() == 1);
  CHECK(cache.append({a, b}).empty());
  CHECK(cache.available() == 0);
}

TEST_CASE("a block that a window frees in the same batch is not copied by its last holder") {
  // Sequence a's window returns a block from which b, truncated into it, would otherwise copy.
  CacheOptions options = small_options(8);
  options.groups = {LayerGroup{.num_layers = 1, .window = TokenCount(4)}};
  CheckedManager cache(options);
  const SequenceHandle a = cache.admit(Ids{1});
  cache.append(a, 8);
  const SequenceHandle b = cache.fork(a);
  cache.append(a, 3);
  REQUIRE(cache.truncate(b, 6) == Status::ok());
  REQUIRE(cache.table(a)[1] == cache.table(b)[1]);
  CHECK(cache.append({b, a}).empty());  // a returns it, so b is its only holder
}

TEST_CASE("a sequence that is unknown, preempted or released is refused by name") {
  CheckedManager cache(small_options(8));
  const SequenceHandle sequence = cache.admit(Ids{1});
  CHECK(cache.try_append({.index = 6, .generation = 1}, 1).status() ==
        Status::invalid_input("append: sequence 6 (generation 1) is unknown: indices are 0 to 5"));
  CHECK(cache.try_append({.index = -1, .generation = 1}, 1).status().code() ==
        StatusCode::kInvalidInput);
  CHECK(cache.try_append(SequenceHandle{}, 1).status() ==
        Status::invalid_input("append: sequence 0 (generation 0) was never issued"));
  CHECK(cache.preempt(sequence) == Status::ok());
  CHECK(cache.try_append(sequence, 1).status() ==
        Status::invalid_input("append: sequence 0 (generation 1) is preempted"));
  CHECK(cache.release(sequence) == Status::ok());
  CHECK(cache.try_append(std::vector{sequence}).status() ==
        Status::invalid_input("append: sequence 0 (generation 1) was released"));
  CHECK(cache.release(sequence).code() == StatusCode::kInvalidInput);
}

}  // namespace
}  // namespace recto::cache
