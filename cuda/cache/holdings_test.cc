#include "cuda/cache/holdings.h"

#include <optional>
#include <vector>

#include "bazel/testing/catch.h"
#include "cuda/cache/testing/checked_manager.h"

namespace recto::cache {
namespace {

// CheckedManager checks all slots after each operation; these tests select the cases.

using testing::CheckedManager;
using testing::Ids;
using testing::ids_from;
using testing::small_options;

std::int64_t used(const CheckedManager& cache) { return cache.manager().states().used.value(); }

CacheOptions options_with(std::int64_t blocks, std::int64_t window) {
  CacheOptions options = small_options(blocks);
  options.groups = {LayerGroup{.num_layers = 1, .window = TokenCount(window)}};
  return options;
}

TEST_CASE("a shared slot counts once") {
  CheckedManager cache(small_options(8));
  const SequenceHandle a = cache.admit(Ids{1});
  cache.append(a, 6);
  const SequenceHandle b = cache.fork(a);
  CHECK(used(cache) == 6);
  CHECK(cache.manager().states().held_empty == TokenCount(2));
  cache.append({a});
  CHECK(used(cache) == 4 + 2 + 3);
  CHECK(cache.release(a) == Status::ok());
  CHECK(used(cache) == 6);
  CHECK(cache.release(b) == Status::ok());
  CHECK(used(cache) == 0);
}

TEST_CASE("a shared block counts the slots of the holder that uses most of it") {
  CheckedManager cache(small_options(8));
  const SequenceHandle a = cache.admit(Ids{1});
  cache.append(a, 8);
  const SequenceHandle b = cache.fork(a);
  const SequenceHandle c = cache.fork(a);
  CHECK(cache.truncate(a, 5) == Status::ok());
  CHECK(cache.truncate(b, 6) == Status::ok());
  CHECK(used(cache) == 8);
  CHECK(cache.release(c) == Status::ok());
  CHECK(used(cache) == 6);
  CHECK(cache.release(b) == Status::ok());
  CHECK(used(cache) == 5);
}

TEST_CASE("a hit on a block that its holder cut back uses all of it") {
  CheckedManager cache(small_options(8));
  const SequenceHandle holder = cache.computed(ids_from(1, 8));
  CHECK(cache.truncate(holder, 5) == Status::ok());
  CHECK(used(cache) == 5);
  const SequenceHandle hit = cache.admit(ids_from(1, 9));
  CHECK(used(cache) == 8);
  CHECK(cache.release(hit) == Status::ok());
  CHECK(used(cache) == 5);
}

TEST_CASE("at each length the used slots are those that the next row's window sees") {
  for (const std::int64_t window : {1, 2, 3, 4, 5, 8, 9}) {
    CheckedManager cache(options_with(8, window));
    const SequenceHandle sequence = cache.admit(Ids{1});
    for (std::int64_t length = 1; length <= 32; ++length) {
      cache.append({sequence});
      CHECK(used(cache) == std::min(length, window - 1));
    }
  }
}

TEST_CASE("in a shared block the window edge is that of the holder furthest behind") {
  CheckedManager cache(options_with(16, 6));
  const SequenceHandle a = cache.admit(Ids{1});
  cache.append(a, 8);
  const SequenceHandle b = cache.fork(a);
  CHECK(used(cache) == 5);  // tokens 3 to 7
  cache.append({a});        // a sees tokens from 4 on; b still from 3
  CHECK(used(cache) == 5 + 1);
  cache.append({a});
  cache.append({a});
  CHECK(used(cache) == 5 + 3);
  cache.append({b});
  CHECK(used(cache) == 4 + 3 + 1);
  CHECK(cache.release(b) == Status::ok());
  CHECK(used(cache) == 5);
}

TEST_CASE("a hit keeps the slots used that another sequence's window leaves behind") {
  CheckedManager cache(options_with(16, 6));
  const SequenceHandle sequence = cache.computed(ids_from(1, 8));
  cache.append(sequence, 2);                               // the window begins at 5, in block 1
  const SequenceHandle hit = cache.admit(ids_from(1, 9));  // sees tokens 3 to 7
  CHECK(cache.table(hit)[1] == cache.table(sequence)[1]);
  CHECK(used(cache) == 1 + 4 + 2);
  cache.append({sequence});
  CHECK(used(cache) == 1 + 4 + 3);
}

TEST_CASE("a hit shares a block in one group and uses part of a cached block in another") {
  CacheOptions options = options_with(16, 8);
  options.groups.push_back(LayerGroup{.num_layers = 1, .window = TokenCount(3)});
  CheckedManager cache(options);
  const SequenceHandle holder = cache.computed(ids_from(1, 8));
  // The row that is appended last sees both blocks with a window of 8, neither with one of 3.
  for (int i = 0; i < 3; ++i) cache.append({holder});
  CHECK(cache.manager().group_states(0).cached == TokenCount(0));
  CHECK(cache.manager().group_states(1).cached == TokenCount(8));
  const SequenceHandle hit = cache.admit(ids_from(1, 9));
  CHECK(cache.view(hit).context_length == TokenCount(8));
  CHECK(cache.manager().group_states(1).cached == TokenCount(4));
  CHECK(cache.manager().group_states(1).used == TokenCount(2 + 2));
}

TEST_CASE("slots in the middle of a block that no holder sees do not count as used") {
  CacheOptions options = options_with(16, 7);
  options.block_size = TokenCount(8);
  CheckedManager cache(options);
  const SequenceHandle ahead = cache.admit(Ids{1});
  cache.append(ahead, 8);
  const SequenceHandle behind = cache.fork(ahead);
  CHECK(cache.truncate(behind, 2) == Status::ok());  // tokens 0 and 1
  cache.append(ahead, 4);                            // tokens 6 to 11
  CHECK(used(cache) == 2 + 2 + 4);
  CHECK(cache.release(ahead) == Status::ok());
  CHECK(used(cache) == 2);
}

TEST_CASE("groups are counted apart") {
  CacheOptions options = small_options(32);
  options.groups = {LayerGroup{}, LayerGroup{.num_layers = 2, .window = TokenCount(4)},
                    LayerGroup{.num_layers = 1, .window = TokenCount(9)}};
  CheckedManager cache(options);
  const SequenceHandle sequence = cache.admit(Ids{1});
  for (int i = 0; i < 12; ++i) cache.append({sequence});
  CHECK(cache.manager().group_states(0).used == TokenCount(12));
  CHECK(cache.manager().group_states(1).used == TokenCount(3));
  CHECK(cache.manager().group_states(2).used == TokenCount(8));
  CHECK(used(cache) == 12 + 3 + 8);
  CHECK(cache.manager().group_states(0).held_empty == TokenCount(0));
  CHECK(cache.manager().group_states(1).held_empty == TokenCount(4 - 3));
}

TEST_CASE("null blocks are overhead") {
  CacheOptions options = small_options(8);
  options.null_blocks = BlockCount(2);
  CheckedManager cache(options);
  CHECK(cache.manager().states().overhead == TokenCount(8));
  CHECK(cache.manager().states().sum() == TokenCount(32));
  CHECK(cache.table(cache.admit(Ids{1})) == std::vector<std::int32_t>{2});
}

}  // namespace
}  // namespace recto::cache
