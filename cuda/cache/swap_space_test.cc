#include "cuda/cache/swap_space.h"

#include <limits>
#include <set>
#include <vector>

#include "bazel/testing/catch.h"
#include "cuda/cache/testing/checked_manager.h"

namespace recto::cache {
namespace {

using testing::CheckedManager;
using testing::Ids;
using testing::ids_from;
using testing::Moved;
using testing::small_options;

TEST_CASE("blocks are held on both sides until the copies are made") {
  CheckedManager cache(small_options(8, 4));
  const SequenceHandle sequence = cache.admit(ids_from(1, 9));
  cache.append(sequence, 6);
  const Moved out = cache.swap_out({sequence});
  CHECK(out.copies.size() == 2);  // the third block was lookahead
  CHECK(cache.view(sequence).state == SequenceState::kSwappingOut);
  CHECK(cache.manager().states().used == TokenCount(6));
  CHECK(cache.manager().host_states().used == TokenCount(0));
  CHECK(cache.manager().host_states().held_empty == TokenCount(8));
  CHECK(cache.available() == 6);
  CHECK(cache.complete(out.handle) == Status::ok());
  CHECK(cache.view(sequence).state == SequenceState::kSwapped);
  CHECK(cache.view(sequence).context_length == TokenCount(6));
  CHECK(cache.manager().host_states().used == TokenCount(6));
  CHECK(cache.available() == 8);
  CHECK(cache.table(sequence).empty());

  const Moved in = cache.swap_in({sequence});
  CHECK(cache.manager().host_states().used == TokenCount(6));
  CHECK(cache.manager().states().used == TokenCount(0));
  CHECK(cache.complete(in.handle) == Status::ok());
  CHECK(cache.manager().host_states().free == TokenCount(16));
  CHECK(cache.manager().states().used == TokenCount(6));
  CHECK(cache.append({sequence}).empty());
}

TEST_CASE("completing a transfer twice is refused") {
  CheckedManager cache(small_options(8, 4));
  const SequenceHandle sequence = cache.admit(ids_from(1, 9));
  const Moved out = cache.swap_out({sequence});
  CHECK(cache.complete(out.handle) == Status::ok());
  CHECK(cache.complete(out.handle) ==
        Status::invalid_input("complete: transfer 0 (generation 1) is not in progress"));
  CHECK(cache.complete({}).code() == StatusCode::kInvalidInput);
}

TEST_CASE("blocks that siblings share are swapped out once, and are shared again on return") {
  CheckedManager cache(small_options(16, 8));
  const SequenceHandle a = cache.admit(ids_from(1, 9));
  cache.append(a, 9);
  const SequenceHandle b = cache.fork(a);
  const SequenceHandle outsider = cache.fork(a);
  cache.append({b});
  const Moved out = cache.swap_out({a, b});
  CHECK(out.copies.size() == 4);  // two shared blocks, and the last block of each
  std::set<std::int32_t> hosts;
  for (const SwapCopy& copy : out.copies) hosts.insert(copy.host.value());
  CHECK(hosts.size() == 4);
  CHECK(cache.complete(out.handle) == Status::ok());
  CHECK(cache.view(outsider).context_length == TokenCount(9));
  CHECK(cache.manager().states().used == TokenCount(9));
  CHECK(cache.manager().host_states().used == TokenCount(8 + 1 + 2));

  const Moved in = cache.swap_in({b, a});
  CHECK(in.copies.size() == 4);
  CHECK(cache.complete(in.handle) == Status::ok());
  CHECK(cache.table(a)[1] == cache.table(b)[1]);
  CHECK(cache.table(a)[2] != cache.table(b)[2]);
  CHECK(cache.table(a)[0] != cache.table(outsider)[0]);
}

TEST_CASE("sequences swapped out together may return one by one, with blocks of their own") {
  CheckedManager cache(small_options(16, 8));
  const SequenceHandle a = cache.admit(ids_from(1, 9));
  cache.append(a, 9);
  const SequenceHandle b = cache.fork(a);
  CHECK(cache.complete(cache.swap_out({a, b}).handle) == Status::ok());
  CHECK(cache.manager().host_states().held_empty == TokenCount(3));
  CHECK(cache.complete(cache.swap_in({b}).handle) == Status::ok());
  CHECK(cache.manager().host_states().used == TokenCount(9));
  CHECK(cache.complete(cache.swap_in({a}).handle) == Status::ok());
  CHECK(cache.manager().host_states().free == TokenCount(32));
  CHECK(cache.table(a)[0] != cache.table(b)[0]);
}

TEST_CASE("after a swap-in with lookahead every sequence can append at once") {
  CheckedManager cache(small_options(10, 8));
  const SequenceHandle a = cache.admit(ids_from(1, 9));
  cache.append(a, 10);
  const SequenceHandle b = cache.fork(a);
  const SequenceHandle c = cache.fork(a);
  REQUIRE(cache.truncate(c, 6) == Status::ok());  // ends inside a block that the others use fully
  CHECK(cache.complete(cache.swap_out({a, b, c}).handle) == Status::ok());
  // Two shared blocks, a last one each for a and b, and the second for c, which is not shared
  // because c will write to it.
  const Moved in = cache.swap_in({c, a, b}, 2);
  CHECK(in.copies.size() == 5);
  CHECK(cache.complete(in.handle) == Status::ok());
  const std::int64_t left = cache.available();
  CHECK(cache.append({a, b, c}).empty());
  CHECK(cache.append({c, b, a}).empty());
  CHECK(cache.available() == left);
}

TEST_CASE("a swap-in needs room for lookahead as well, and is refused without it") {
  CheckedManager cache(small_options(4, 4));
  const SequenceHandle sequence = cache.admit(ids_from(1, 8));
  cache.append(sequence, 8);
  CHECK(cache.complete(cache.swap_out({sequence}).handle) == Status::ok());
  const SequenceHandle other = cache.admit(ids_from(50, 8));
  CHECK(cache.try_swap_in({sequence}, 1).status() ==
        Status::exhausted("swap in: needs 3 blocks; there are 2 free and 0 evictable, and a "
                          "watermark of 0"));
  CHECK(cache.complete(cache.swap_in({sequence}).handle) == Status::ok());
  CHECK_FALSE(cache.try_append(std::vector{sequence}).is_ok());
  CHECK(cache.release(other) == Status::ok());
  CHECK(cache.append({sequence}).empty());
}

TEST_CASE("a swap-out beyond the host pool, or without one, is refused") {
  CheckedManager cache(small_options(8, 2));
  const SequenceHandle sequence = cache.admit(ids_from(1, 12));
  cache.append(sequence, 9);
  CHECK(cache.try_swap_out({sequence}).status() ==
        Status::exhausted("swap out: needs 3 blocks of the host pool; 2 of 2 are free"));
  CHECK(cache.truncate(sequence, 8) == Status::ok());
  CHECK(cache.try_swap_out({sequence}).is_ok());
  CheckedManager alone(small_options(8));
  const SequenceHandle other = alone.admit(Ids{1});
  CHECK(alone.try_swap_out({other}).status() ==
        Status::invalid_input("swap out: there is no host pool: host_blocks = 0"));
  CHECK(alone.manager().host_states() == PoolStates{});
}

TEST_CASE("a sequence that is being swapped, or is swapped out, can only be read or released") {
  CheckedManager cache(small_options(8, 4));
  const SequenceHandle sequence = cache.admit(ids_from(1, 9));
  cache.append(sequence, 6);
  const Moved out = cache.swap_out({sequence});
  CHECK(cache.try_append(sequence, 1).status() ==
        Status::invalid_input("append: sequence 0 (generation 1) is being swapped out"));
  CHECK(cache.truncate(sequence, 0).code() == StatusCode::kInvalidInput);
  CHECK(cache.try_swap_out({sequence}).status().code() == StatusCode::kInvalidInput);
  CHECK(cache.try_swap_in({sequence}).status() ==
        Status::invalid_input("swap in: sequence 0 (generation 1) is being swapped out; expected "
                              "swapped out"));
  CHECK(cache.table(sequence).size() == 2);
  CHECK(cache.complete(out.handle) == Status::ok());
  CHECK(cache.commit(sequence, ids_from(1, 9)) ==
        Status::invalid_input("commit: sequence 0 (generation 1) is swapped out"));
  CHECK(cache.release(sequence) == Status::ok());
  CHECK(cache.manager().host_states().free == TokenCount(16));
}

TEST_CASE("blocks of a sequence released during a swap are freed when the swap completes") {
  CheckedManager cache(small_options(8, 4));
  const SequenceHandle first = cache.admit(ids_from(1, 8));
  cache.append(first, 8);
  const Moved out = cache.swap_out({first});
  CHECK(cache.release(first) == Status::ok());
  CHECK(cache.release(first).code() == StatusCode::kInvalidInput);
  CHECK(cache.available() == 6);
  CHECK(cache.manager().num_sequences() == 1);
  CHECK(cache.complete(out.handle) == Status::ok());
  CHECK(cache.available() == 8);
  CHECK(cache.manager().host_states().free == TokenCount(16));
  CHECK(cache.manager().num_sequences() == 0);

  const SequenceHandle second = cache.admit(ids_from(1, 8));
  cache.append(second, 8);
  CHECK(cache.complete(cache.swap_out({second}).handle) == Status::ok());
  const Moved in = cache.swap_in({second});
  CHECK(cache.release(second) == Status::ok());
  CHECK(cache.available() == 6);
  CHECK(cache.complete(in.handle) == Status::ok());
  CHECK(cache.available() == 8);
  CHECK(cache.manager().host_states().free == TokenCount(16));
}

TEST_CASE("content of a swapped-out sequence stays cached until its blocks are evicted") {
  CheckedManager cache(small_options(8, 4));
  const SequenceHandle sequence = cache.computed(ids_from(1, 8));
  CHECK(cache.complete(cache.swap_out({sequence}).handle) == Status::ok());
  CHECK(cache.hit(ids_from(1, 9)) == 8);
  cache.admit(ids_from(50, 32));  // evicts the block
  CHECK(cache.hit(ids_from(1, 9)) == 0);
  CHECK_FALSE(cache.try_swap_in({sequence}).is_ok());
}

TEST_CASE("a swap moves only the blocks that a window still sees") {
  CacheOptions options = small_options(16, 8);
  options.groups = {LayerGroup{}, LayerGroup{.num_layers = 1, .window = TokenCount(4)}};
  CheckedManager cache(options);
  const SequenceHandle sequence = cache.admit(Ids{1});
  cache.append(sequence, 14);
  const Moved out = cache.swap_out({sequence});
  CHECK(out.copies.size() == 4 + 2);  // the row at 14 sees tokens from 11 on
  CHECK(cache.complete(out.handle) == Status::ok());
  CHECK(cache.manager().host_states().used == TokenCount(14 + 3));
  CHECK(cache.complete(cache.swap_in({sequence}).handle) == Status::ok());
  CHECK(cache.table(sequence, 1)[1] == -1);
  CHECK(cache.table(sequence, 1)[2] >= 0);
}

TEST_CASE("invalid sets of sequences and lookahead are refused by name") {
  CheckedManager cache(small_options(8, 4));
  const SequenceHandle sequence = cache.admit(ids_from(1, 8));
  CHECK(cache.try_swap_out({}).status() == Status::invalid_input("swap out: no sequences"));
  CHECK(cache.try_swap_out({sequence, sequence}).status() ==
        Status::invalid_input("swap out: sequence 0 (generation 1) stands twice"));
  cache.append(sequence, 8);
  CHECK(cache.complete(cache.swap_out({sequence}).handle) == Status::ok());
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  CHECK(cache.try_swap_in({sequence}, 25).status() ==
        Status::invalid_input("swap in: lookahead 25; expected 0 to the 24 that the table of "
                              "sequence 0 (generation 1) has left"));
  CHECK(cache.try_swap_in({sequence}, kMost).status().code() == StatusCode::kInvalidInput);
  CHECK(cache.try_swap_in({sequence}, -1).status().code() == StatusCode::kInvalidInput);
  CHECK(cache.try_swap_in({sequence}, 24).is_ok());
}

}  // namespace
}  // namespace recto::cache
