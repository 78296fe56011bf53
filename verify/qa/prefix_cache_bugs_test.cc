// Faults that other prefix caches had, each under its id in docs/known-bugs.md.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "bazel/testing/catch.h"
#include "cuda/cache/cache_events.h"
#include "cuda/cache/testing/cache_text.h"
#include "cuda/cache/testing/checked_manager.h"

namespace recto::verify {
namespace {

using cache::MultimodalItem;
using cache::SequenceHandle;
using cache::testing::CheckedManager;
using cache::testing::Ids;
using cache::testing::ids_from;
using cache::testing::prompt_of;
using cache::testing::small_options;

Ids joined(const Ids& a, const Ids& b) {
  Ids ids = a;
  ids.insert(ids.end(), b.begin(), b.end());
  return ids;
}

TEST_CASE("dup-same-step-overwrite: the first of two equal blocks of a step stays findable") {
  for (const bool is_first_released_first : {true, false}) {
    CheckedManager cache(small_options(8));
    const Ids ids = ids_from(0, 8);
    const SequenceHandle first = cache.admit(ids);
    const SequenceHandle second = cache.admit(ids);
    cache.append({first, second});
    cache.append(first, 7);
    cache.append(second, 7);
    CHECK(cache.commit(first, ids) == Status::ok());
    CHECK(cache.commit(second, ids) == Status::ok());
    CHECK(cache.manager().statistics().duplicates == 2);
    const std::vector<std::int32_t> found = cache.table(first);
    CHECK(cache.release(is_first_released_first ? first : second) == Status::ok());
    CHECK(cache.release(is_first_released_first ? second : first) == Status::ok());
    CHECK(cache.hit(ids_from(0, 9)) == 8);
    CHECK(cache.manager().states().cached == TokenCount(8));
    const SequenceHandle reader = cache.admit(ids_from(0, 9));
    CHECK(cache.table(reader)[0] == found[0]);
    CHECK(cache.table(reader)[1] == found[1]);
  }
}

TEST_CASE("evict-host-loop-counter: an admission evicts as many blocks as it needs") {
  for (std::int64_t needed = 1; needed <= 6; ++needed) {
    CheckedManager cache(small_options(6));
    cache.visit(ids_from(0, 24));
    cache.admit(ids_from(50, needed * 4));
    CHECK(cache.manager().statistics().evicted == needed);
    CHECK(cache.manager().states().cached.value() == (6 - needed) * 4);
    CHECK(cache.hit(ids_from(0, 25)) == (6 - needed) * 4);
  }
}

TEST_CASE("evict-parent-first: after k evictions of a chain of n blocks n - k are found") {
  for (const bool is_preempted : {false, true}) {
    CheckedManager cache(small_options(6));
    const SequenceHandle owner = cache.computed(ids_from(0, 24));
    CHECK((is_preempted ? cache.preempt(owner) : cache.release(owner)) == Status::ok());
    for (std::int64_t evicted = 1; evicted <= 4; ++evicted) {
      cache.admit(ids_from(100 * static_cast<cache::TokenId>(evicted), 4));
      CHECK(cache.hit(ids_from(0, 25)) == (6 - evicted) * 4);
    }
  }
}

TEST_CASE("evictable-double-count: a shared block is counted once") {
  CheckedManager cache(small_options(8));
  const SequenceHandle owner = cache.computed(ids_from(0, 9));
  const SequenceHandle twin = cache.admit(joined(ids_from(0, 8), {70}));
  cache.check_conservation();
  CHECK(cache.release(owner) == Status::ok());  // its full blocks are still the twin's
  cache.check_conservation();
  CHECK(cache.manager().states().cached == TokenCount(0));
  CHECK(cache.available() == 5);
  CHECK(cache.release(twin) == Status::ok());
  cache.check_conservation();
  CHECK(cache.manager().states().cached == TokenCount(8));
  CHECK(cache.available() == 8);
}

// Over cached lengths, the length of the common prefix, and the length of the prompt.
TEST_CASE("full-block-count-off-by-one: a hit has floor(min(common, length - 1) / size) blocks") {
  for (std::int64_t cached = 1; cached <= 13; ++cached) {
    CheckedManager cache(small_options(8));
    cache.visit(ids_from(0, cached));
    for (std::int64_t length = 1; length <= 13; ++length) {
      for (std::int64_t common = 0; common <= length; ++common) {
        const Ids ids = joined(ids_from(0, common), ids_from(60, length - common));
        const std::int64_t reach = std::min({common, cached, length - 1});
        CHECK(cache.hit(ids) == std::min(reach / 4, cached / 4) * 4);
      }
    }
  }
}

TEST_CASE("full-hit-breaks-hash-chain: blocks appended after a whole hit can be found") {
  for (const std::int64_t more : {4, 5, 8}) {
    CheckedManager cache(small_options(8));
    cache.visit(ids_from(0, 8));
    const SequenceHandle again = cache.computed(ids_from(0, 8));
    CHECK(cache.view(again).published == BlockCount(2));
    cache.append(again, more);
    CHECK(cache.commit(again, ids_from(0, 8 + more)) == Status::ok());
    CHECK(cache.hit(ids_from(0, 32)) == (8 + more) / 4 * 4);
  }
}

// Keeps what was told to be stored.
class Listener : public cache::CacheEvents {
 public:
  void on_stored(const cache::StoredBlock& stored) override {
    tokens.emplace_back(stored.tokens.begin(), stored.tokens.end());
    hashes.push_back(stored.hash);
    parents.push_back(stored.parent_hash);
  }
  void on_removed(const cache::RemovedBlock&) override {}
  void on_cleared() override {}

  std::vector<Ids> tokens;
  std::vector<cache::BlockHash> hashes;
  std::vector<cache::BlockHash> parents;
};

TEST_CASE("hash-granularity-mismatch: a block's hash covers exactly the tokens in its slots") {
  for (const std::int64_t block_size : {1, 2, 3, 4, 8}) {
    Listener told;
    auto options = small_options(8);
    options.block_size = TokenCount(block_size);
    options.events = &told;
    CheckedManager cache(options);
    cache.visit(ids_from(0, 3 * block_size));
    REQUIRE(told.tokens.size() == 3);
    cache::BlockHash before = told.parents[0];
    for (std::size_t block = 0; block < 3; ++block) {
      const auto first = static_cast<cache::TokenId>(static_cast<std::int64_t>(block) * block_size);
      CHECK(told.tokens[block] == ids_from(first, block_size));
      CHECK(told.parents[block] == before);
      CHECK(told.hashes[block] == options.prefix.hasher(before, told.tokens[block], {}));
      before = told.hashes[block];
    }
  }
}

TEST_CASE("hash-last-token-skipped: each token of a block changes its hash") {
  for (const cache::HashWidth width : {cache::HashWidth::k64, cache::HashWidth::k128}) {
    for (std::size_t position = 0; position < 8; ++position) {
      auto options = small_options(8);
      options.prefix.hasher.width = width;
      CheckedManager cache(options);
      cache.visit(ids_from(0, 8));
      Ids other = ids_from(0, 9);
      other[position] += 100;
      CHECK(cache.hit(other) == (position < 4 ? 0 : 4));
      const cache::BlockHasher& hash = options.prefix.hasher;
      const Ids whole = ids_from(0, 8);
      other.pop_back();
      CHECK_FALSE(hash({}, whole, {}) == hash({}, other, {}));
    }
  }
}

TEST_CASE("inflight-hit-same-batch: a hit finds computed blocks, not merely admitted ones") {
  CheckedManager cache(small_options(8));
  const Ids ids = ids_from(0, 9);
  const SequenceHandle first = cache.admit(ids);
  CHECK(cache.admit(prompt_of(ids)).hit == TokenCount(0));
  cache.append(first, 6);  // a chunk, which is not computed before it is said to be
  CHECK(cache.hit(ids) == 0);
  CHECK(cache.commit(first, ids) == Status::ok());
  CHECK(cache.hit(ids) == 4);
  cache.append(first, 3);
  CHECK(cache.hit(ids) == 4);
  CHECK(cache.commit(first, ids) == Status::ok());
  CHECK(cache.hit(ids) == 8);
}

TEST_CASE("lru-heap-stale-entries: blocks that are hit again are evicted by their last use") {
  CheckedManager cache(small_options(4));
  for (const cache::TokenId first : {0, 10, 20, 30}) cache.visit(ids_from(first, 4));
  CHECK(cache.release(cache.admit(ids_from(10, 5))) == Status::ok());  // evicts 0 for its tail
  CHECK(cache.hit(ids_from(0, 5)) == 0);
  for (const cache::TokenId first : {20, 30, 20}) {
    const SequenceHandle reader = cache.admit(ids_from(first, 5));
    CHECK(cache.release(reader) == Status::ok());
  }
  // Least recently used first: 10, then 30, then 20.
  const std::vector<cache::TokenId> order = {10, 30, 20};
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i == 0) cache.admit(ids_from(80, 4));  // takes the free block
    cache.admit(ids_from(90 + static_cast<cache::TokenId>(10 * i), 4));
    for (std::size_t j = 0; j < order.size(); ++j) {
      CHECK(cache.hit(ids_from(order[j], 5)) == (j <= i ? 0 : 4));
    }
  }
}

cache::Prompt prompt_with(const Ids& ids, const std::vector<MultimodalItem>& items,
                          const cache::CacheKeys& keys) {
  return {.tokens = {.ids = ids, .items = items}, .keys = keys};
}

TEST_CASE("mm-salt-missing: image, adapter and tenant are part of a block's key") {
  CheckedManager cache(small_options(8));
  const Ids ids = ids_from(0, 9);
  using cache::testing::wide_id;
  const std::uint64_t lora = wide_id(0);
  const std::uint64_t salt = wide_id(4);
  const std::uint64_t hash = wide_id(8);
  const cache::CacheKeys keys = {.lora_id = lora, .tenant_salt = salt};
  const std::vector<MultimodalItem> image = {{.content_hash = hash, .start = 1, .length = 6}};
  const SequenceHandle owner = cache.admit(prompt_with(ids, image, keys)).sequence;
  cache.append(owner, 9);
  const cache::Prompt prompt = prompt_with(ids, image, keys);
  CHECK(cache.call([&](auto& m) { return m.commit(owner, prompt.tokens); }) == Status::ok());
  const auto hit = [&](const std::vector<MultimodalItem>& items, const cache::CacheKeys& with) {
    return cache.manager().cached_prefix(prompt_with(ids, items, with)).value();
  };
  CHECK(hit(image, keys) == 8);
  for (const std::uint64_t half : {1U, 2U}) {  // that has the same low, or high half
    CHECK(hit(image, {.lora_id = wide_id(half), .tenant_salt = salt}) == 0);
    CHECK(hit(image, {.lora_id = lora, .tenant_salt = wide_id(4 + half)}) == 0);
    CHECK(hit({{.content_hash = wide_id(8 + half), .start = 1, .length = 6}}, keys) == 0);
  }
  CHECK(hit(image, {.lora_id = salt, .tenant_salt = lora}) == 0);
  CHECK(hit({}, keys) == 0);
  CHECK(hit({{.content_hash = hash, .start = 2, .length = 6}}, keys) == 0);
  // The same in the first block, another one in the second.
  CHECK(hit({{.content_hash = hash, .start = 1, .length = 6}, {6, 7, 1}}, keys) == 4);
}

TEST_CASE("partial-hash-resurrected: a rewritten block is not found by its old contents") {
  CheckedManager cache(small_options(8));
  const SequenceHandle sequence = cache.computed(ids_from(0, 6));
  CHECK(cache.hit(ids_from(0, 7)) == 4);  // of the part of a block nothing is known
  cache.append(sequence, 2);
  CHECK(cache.commit(sequence, ids_from(0, 8)) == Status::ok());
  CHECK(cache.hit(ids_from(0, 9)) == 8);
  CHECK(cache.truncate(sequence, 6) == Status::ok());
  CHECK(cache.hit(ids_from(0, 9)) == 8);  // still as it was
  cache.append(sequence, 2);
  CHECK(cache.hit(ids_from(0, 9)) == 4);
  const Ids other = joined(ids_from(0, 6), {70, 71, 72});
  CHECK(cache.commit(sequence, other) == Status::ok());
  CHECK(cache.hit(ids_from(0, 9)) == 4);
  CHECK(cache.hit(other) == 8);
}

TEST_CASE("prefix-accounting-four-mutants: tenants are apart, and hits end at gaps or block ends") {
  CheckedManager cache(small_options(4));
  const cache::CacheKeys keys = {.lora_id = 0, .tenant_salt = 9};
  cache.visit(ids_from(0, 8), keys);
  CHECK(cache.hit(ids_from(0, 9)) == 0);
  CHECK(cache.hit(ids_from(0, 9), keys) == 8);
  CHECK(cache.hit(ids_from(0, 8), keys) == 4);
  // The second block's tokens again, behind another first block.
  CHECK(cache.hit(joined(ids_from(50, 4), ids_from(4, 5)), keys) == 0);
  // And behind nothing.
  CHECK(cache.hit(ids_from(4, 5), keys) == 0);
  cache.admit(ids_from(60, 12));  // evicts the end of what is cached
  CHECK(cache.hit(ids_from(0, 9), keys) == 4);
  cache.admit(ids_from(70, 4));
  CHECK(cache.hit(ids_from(0, 9), keys) == 0);

  // A hole: two computed the same start, the first one's blocks can be found, and one of them goes,
  // while what follows is held by the second.
  CheckedManager holed(small_options(6));
  const SequenceHandle first = holed.admit(ids_from(0, 8));
  const SequenceHandle second = holed.admit(ids_from(0, 12));
  holed.append(first, 8);
  holed.append(second, 12);
  CHECK(holed.commit(first, ids_from(0, 8)) == Status::ok());
  CHECK(holed.commit(second, ids_from(0, 12)) == Status::ok());
  CHECK(holed.release(first) == Status::ok());
  CHECK(holed.hit(ids_from(0, 13)) == 12);
  holed.admit(ids_from(60, 8));  // takes the free block, and evicts one
  CHECK(holed.hit(ids_from(0, 13)) == 4);
}

TEST_CASE("stale-hash-on-realloc: a reallocated block is not found by its old contents") {
  CheckedManager cache(small_options(2));
  cache.visit(ids_from(0, 8));
  const SequenceHandle owner = cache.computed(ids_from(50, 8));
  CHECK(cache.hit(ids_from(0, 9)) == 0);
  CHECK(cache.release(owner) == Status::ok());
  CHECK(cache.hit(ids_from(0, 9)) == 0);
  CHECK(cache.hit(ids_from(50, 9)) == 8);
  CHECK(cache.manager().states().cached == TokenCount(8));
}

}  // namespace
}  // namespace recto::verify
