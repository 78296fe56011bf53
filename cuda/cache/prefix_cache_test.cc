#include "cuda/cache/prefix_cache.h"

#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "cuda/cache/cache_core.h"
#include "cuda/cache/cache_events.h"
#include "cuda/cache/testing/cache_text.h"
#include "cuda/cache/testing/checked_manager.h"

namespace recto::cache {
namespace {

using testing::CheckedManager;
using testing::Ids;
using testing::ids_from;
using testing::prompt_of;
using testing::small_options;

TEST_CASE("a block is found only after it is computed and committed") {
  CheckedManager cache(small_options(8));
  const SequenceHandle sequence = cache.admit(ids_from(1, 9));
  CHECK(cache.hit(ids_from(1, 9)) == 0);
  cache.append(sequence, 7);
  CHECK(cache.hit(ids_from(1, 9)) == 0);
  CHECK(cache.commit(sequence, ids_from(1, 9)) == Status::ok());
  CHECK(cache.hit(ids_from(1, 9)) == 4);  // the second block is not full
  cache.append(sequence, 1);
  CHECK(cache.commit(sequence, ids_from(1, 9)) == Status::ok());
  CHECK(cache.hit(ids_from(1, 9)) == 8);
  CHECK(cache.view(sequence).published == BlockCount(2));
}

TEST_CASE("tokens committed before they are computed are not found after a release") {
  CheckedManager cache(small_options(8));
  const SequenceHandle sequence = cache.admit(ids_from(1, 9));
  CHECK(cache.commit(sequence, ids_from(1, 9)) == Status::ok());
  CHECK(cache.release(sequence) == Status::ok());
  CHECK(cache.hit(ids_from(1, 9)) == 0);
  CHECK(cache.manager().states().free == TokenCount(32));
}

TEST_CASE("of two blocks with equal content, the first committed one is found") {
  CheckedManager cache(small_options(8));
  const SequenceHandle first = cache.admit(ids_from(1, 4));
  const SequenceHandle second = cache.admit(ids_from(1, 4));
  cache.append({first});
  cache.append(first, 3);
  cache.append(second, 4);
  CHECK(cache.commit(first, ids_from(1, 4)) == Status::ok());
  CHECK(cache.commit(second, ids_from(1, 4)) == Status::ok());
  CHECK(cache.manager().statistics().duplicates == 1);
  const SequenceHandle third = cache.admit(ids_from(1, 5));
  CHECK(cache.table(third)[0] == cache.table(first)[0]);
  CHECK(cache.release(second) == Status::ok());  // free: not cached a second time
  CHECK(cache.manager().states().cached == TokenCount(0));
  CHECK(cache.release(third) == Status::ok());
  CHECK(cache.release(first) == Status::ok());
  CHECK(cache.manager().states().cached == TokenCount(4));
}

TEST_CASE("evicted content gets the block of the next sequence that computes it") {
  CheckedManager cache(small_options(4));
  const SequenceHandle first = cache.admit(ids_from(1, 8));
  const SequenceHandle second = cache.admit(ids_from(1, 8));
  cache.append(first, 4);
  cache.append(second, 8);
  CHECK(cache.commit(first, ids_from(1, 8)) == Status::ok());
  CHECK(cache.commit(second, ids_from(1, 8)) == Status::ok());  // its second block is found
  CHECK(cache.release(first) == Status::ok());
  const SequenceHandle other = cache.admit(ids_from(50, 8));  // evicts the first block
  CHECK(cache.hit(ids_from(1, 9)) == 0);
  CHECK(cache.manager().statistics().evicted == 1);
  CHECK(cache.release(other) == Status::ok());
  const SequenceHandle third = cache.admit(ids_from(1, 4));
  cache.append(third, 4);
  CHECK(cache.commit(third, ids_from(1, 4)) == Status::ok());
  CHECK(cache.hit(ids_from(1, 9)) == 8);  // the chain continues with the second sequence's block
}

TEST_CASE("fewer ids than tokens are refused") {
  CheckedManager cache(small_options(8));
  const SequenceHandle sequence = cache.admit(ids_from(1, 5));
  cache.append(sequence, 5);
  CHECK(cache.commit(sequence, ids_from(1, 4)) ==
        Status::invalid_input("commit: 4 token ids; expected at least the context length, 5"));
  CHECK(cache.commit(sequence, ids_from(1, 5)) == Status::ok());
}

TEST_CASE("an index full of nodes in use caches no further block, and counts it") {
  CacheOptions options = small_options(8);
  options.prefix.max_nodes = 2;
  CheckedManager cache(options);
  const SequenceHandle sequence = cache.computed(ids_from(1, 12));
  CHECK(cache.view(sequence).published == BlockCount(2));
  CHECK(cache.manager().statistics().no_node == 1);
  CHECK(cache.release(sequence) == Status::ok());
  CHECK(cache.manager().states().cached == TokenCount(8));
}

TEST_CASE("in a full index the least recently used content makes room for new content") {
  CacheOptions options = small_options(8);
  options.prefix.max_nodes = 2;
  CheckedManager cache(options);
  cache.visit(ids_from(1, 8));
  cache.visit(ids_from(101, 4));
  CHECK(cache.hit(ids_from(101, 5)) == 4);
  CHECK(cache.hit(ids_from(1, 9)) == 4);  // its last block was evicted
  CHECK(cache.manager().statistics().evicted == 1);
  CHECK(cache.manager().statistics().evicted_for_nodes == 1);
  CHECK(cache.manager().statistics().no_node == 0);
  CHECK(cache.manager().states().free == TokenCount(24));
}

// A cached block whose predecessor was evicted keeps two nodes alive; as many blocks in use then
// need more nodes than are left.
TEST_CASE("by default the index has a node for every block in use") {
  CheckedManager cache(small_options(4));
  const SequenceHandle first = cache.admit(ids_from(1, 4));
  const SequenceHandle second = cache.admit(ids_from(1, 8));
  cache.append(first, 4);
  cache.append(second, 8);
  CHECK(cache.commit(first, ids_from(1, 4)) == Status::ok());
  CHECK(cache.commit(second, ids_from(1, 8)) == Status::ok());
  CHECK(cache.release(first) == Status::ok());
  const SequenceHandle other = cache.computed(ids_from(101, 8));  // evicts first's block
  CHECK(cache.release(second) == Status::ok());
  CHECK(CacheCore::of(cache.manager()).prefix.index().num_nodes() == 4);
  CHECK(cache.manager().statistics().evicted_for_nodes == 0);
  const SequenceHandle third = cache.computed(ids_from(201, 4));
  CHECK(cache.view(third).published == BlockCount(1));
  CHECK(cache.view(other).published == BlockCount(2));
  CHECK(cache.manager().statistics().evicted_for_nodes == 1);
  CHECK(cache.manager().statistics().no_node == 0);
}

TEST_CASE("a block that got no node is committed again with the next full block") {
  CacheOptions options = small_options(8);
  options.prefix.max_nodes = 1;
  CheckedManager cache(options);
  const SequenceHandle other = cache.computed(ids_from(101, 4));
  const SequenceHandle sequence = cache.computed(ids_from(1, 4));
  CHECK(cache.manager().statistics().no_node == 1);
  CHECK(cache.commit(sequence, ids_from(1, 4)) == Status::ok());
  CHECK(cache.manager().statistics().no_node == 1);
  CHECK(cache.release(other) == Status::ok());
  CHECK(cache.commit(sequence, ids_from(1, 4)) == Status::ok());
  CHECK(cache.view(sequence).published == BlockCount(0));
  cache.append(sequence, 4);
  CHECK(cache.commit(sequence, ids_from(1, 8)) == Status::ok());
  CHECK(cache.view(sequence).published == BlockCount(1));
  CHECK(cache.manager().statistics().no_node == 2);
}

Prompt with_items(const Ids& ids, const std::vector<MultimodalItem>& items) {
  return {.tokens = {.ids = ids, .items = items}, .keys = {}};
}

TEST_CASE("placeholders differ by the content that they stand for, and by where it starts") {
  CheckedManager cache(small_options(16));
  const Ids ids(13, 7);  // all the same token
  const std::uint64_t hash = testing::wide_id(0);
  const std::vector<MultimodalItem> items = {{.content_hash = hash, .start = 2, .length = 4}};
  const SequenceHandle sequence = cache.admit(with_items(ids, items)).sequence;
  cache.append(sequence, 12);
  CHECK(cache.call([&](BlockManager& m) {
    return m.commit(sequence, with_items(ids, items).tokens);
  }) == Status::ok());
  const auto hit = [&](std::vector<MultimodalItem> other) {
    return cache.manager().cached_prefix(with_items(ids, other)).value();
  };
  CHECK(hit(items) == 12);
  CHECK(hit({}) == 0);
  // One shares the hash's low half, one its high half.
  for (const std::uint64_t other : {testing::wide_id(1), testing::wide_id(2)}) {
    CHECK(hit({{.content_hash = other, .start = 2, .length = 4}}) == 0);
  }
  CHECK(hit({{.content_hash = hash, .start = 3, .length = 3}}) == 0);
  CHECK(hit({{.content_hash = hash, .start = 2, .length = 3}}) == 0);
  CHECK(hit({{.content_hash = hash, .start = 2, .length = 4},
             {.content_hash = 3, .start = 9, .length = 1}}) == 8);
}

TEST_CASE("a block with too many items is not cached, and neither are the blocks after it") {
  CheckedManager cache(small_options(16));
  const Ids ids(13, 7);
  std::vector<MultimodalItem> items;
  for (std::int64_t i = 0; i < 3; ++i) {
    items.push_back({.content_hash = 1, .start = 4 + i, .length = 1});
  }
  const SequenceHandle sequence = cache.admit(with_items(ids, items)).sequence;
  cache.append(sequence, 12);
  const auto commit = [&] {
    return cache.call(
        [&](BlockManager& m) { return m.commit(sequence, with_items(ids, items).tokens); });
  };
  CHECK(commit() == Status::ok());
  CHECK(cache.view(sequence).published == BlockCount(1));
  CHECK(cache.manager().statistics().too_many_items == 1);
  CHECK(cache.manager().cached_prefix(with_items(ids, items)) == TokenCount(4));
}

TEST_CASE("items out of order are refused by name") {
  CheckedManager cache(small_options(16));
  const Ids ids(13, 7);
  const std::vector<MultimodalItem> items = {{.content_hash = 1, .start = 2, .length = 4},
                                             {.content_hash = 1, .start = 5, .length = 1}};
  CHECK(cache.try_admit(with_items(ids, items)).status() ==
        Status::invalid_input("admit: items[1]: start = 5, length = 1; expected a start of at "
                              "least 6, the end of the item before, and a length of at least 1"));
  const SequenceHandle sequence = cache.admit(Ids{1});
  const auto commit = [&] {
    return cache.call(
        [&](BlockManager& m) { return m.commit(sequence, with_items(ids, items).tokens); });
  };
  cache.append(sequence, 3);
  CHECK(commit().code() == StatusCode::kInvalidInput);  // although no block is full yet
  cache.append(sequence, 1);
  CHECK(commit().code() == StatusCode::kInvalidInput);
}

// Records the events.
class Recorder : public CacheEvents {
 public:
  void on_stored(const StoredBlock& stored) override {
    log.push_back("+" + std::to_string(stored.tokens.front()) + " in group " +
                  std::to_string(stored.group));
    stored_hashes.push_back(stored.hash);
    parent_hashes.push_back(stored.parent_hash);
  }
  void on_removed(const RemovedBlock& removed) override {
    log.push_back("- from group " + std::to_string(removed.group));
    removed_hashes.push_back(removed.hash);
  }
  void on_cleared() override { log.push_back("cleared"); }

  std::vector<std::string> log;
  std::vector<BlockHash> stored_hashes;
  std::vector<BlockHash> parent_hashes;
  std::vector<BlockHash> removed_hashes;
};

TEST_CASE("routers get an event for each block that is stored or removed, and for each clear") {
  Recorder recorder;
  CacheOptions options = small_options(3);
  options.events = &recorder;
  CheckedManager cache(options);
  cache.visit(ids_from(1, 8));
  CHECK(recorder.log == std::vector<std::string>{"+1 in group 0", "+5 in group 0"});
  CHECK(recorder.parent_hashes[0] == root_hash());
  CHECK(recorder.parent_hashes[1] == recorder.stored_hashes[0]);
  const SequenceHandle other =
      cache.admit(ids_from(50, 8));  // one free block, one evicted: the last
  CHECK(recorder.removed_hashes == std::vector{recorder.stored_hashes[1]});
  CHECK(cache.release(other) == Status::ok());
  cache.reset();
  CHECK(recorder.log.back() == "cleared");
}

}  // namespace
}  // namespace recto::cache
