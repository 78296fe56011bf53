#include "cuda/cache/block_pool.h"

#include <algorithm>
#include <deque>
#include <vector>

#include "bazel/testing/catch.h"
#include "core/random_stream.h"

namespace recto::cache {
namespace {

constexpr std::int64_t kContents = 20;

BlockPool pool_of(std::int64_t blocks, std::int64_t nulls = 0) {
  return BlockPool::create(BlockCount(blocks), BlockCount(nulls), kContents).value();
}

BlockId cached_block(BlockPool& pool, std::int32_t content) {
  const BlockId block = pool.allocate().block;
  pool.set_content(block, ContentId(content));
  pool.release(block);
  return block;
}

TEST_CASE("a pool takes 8 bytes per block and 4 per content") {
  CHECK(BlockPool::bytes_per_block() == 8);
  CHECK(pool_of(100).bytes() == 100 * 8 + kContents * 4);
}

TEST_CASE("content is in one block, until it is forgotten or evicted") {
  BlockPool pool = pool_of(2);
  const BlockId first = cached_block(pool, 5);
  const BlockId second = cached_block(pool, 6);
  CHECK(pool.block_with(ContentId(5)) == first);
  CHECK(pool.block_with(ContentId(6)) == second);
  CHECK(pool.block_with(ContentId(7)) == kNoBlock);
  // In the list of evictable blocks, each block's content is stored in its neighbour.
  CHECK(pool.content(first) == ContentId(5));
  CHECK(pool.content(second) == ContentId(6));
  pool.forget_content(first);
  CHECK(pool.block_with(ContentId(5)) == kNoBlock);
  CHECK(pool.content(second) == ContentId(6));
  CHECK(pool.allocate().block == first);
  CHECK(pool.allocate().evicted == ContentId(6));
  CHECK(pool.block_with(ContentId(6)) == kNoBlock);
  pool.set_content(first, ContentId(6));
  CHECK_THROWS_AS(pool.set_content(second, ContentId(6)), ContractFailure);
}

TEST_CASE("low ids are allocated first, and null blocks never") {
  BlockPool pool = pool_of(4, 2);
  CHECK(pool.available() == BlockCount(2));
  CHECK(pool.allocate().block == BlockId(2));
  CHECK(pool.allocate().block == BlockId(3));
  CHECK(pool.available() == BlockCount(0));
  CHECK(pool.state(BlockId(1)) == BlockState::kNull);
}

TEST_CASE("the block freed last is allocated first") {
  BlockPool pool = pool_of(3);
  const BlockId first = pool.allocate().block;
  const BlockId second = pool.allocate().block;
  CHECK(pool.release(first) == BlockState::kFree);
  CHECK(pool.release(second) == BlockState::kFree);
  CHECK(pool.allocate().block == second);
  CHECK(pool.allocate().block == first);
}

TEST_CASE("a block with several holders is free after the last one") {
  BlockPool pool = pool_of(1);
  const BlockId block = pool.allocate().block;
  CHECK(pool.is_exclusive(block));
  pool.hold(block);
  CHECK_FALSE(pool.is_exclusive(block));
  CHECK(pool.holders(block) == 2);
  CHECK(pool.release(block) == BlockState::kHeld);
  CHECK(pool.release(block) == BlockState::kFree);
  CHECK(pool.held() == BlockCount(0));
}

TEST_CASE("hold_again adds a holder to each of several held blocks") {
  BlockPool pool = pool_of(3);
  const std::vector<BlockId> held = {pool.allocate().block, pool.allocate().block};
  pool.hold_again(held);
  for (const BlockId block : held) CHECK(pool.holders(block) == 2);
  CHECK(pool.held() == BlockCount(2));
  CHECK(pool.release(held[0]) == BlockState::kHeld);
  CHECK(pool.release(held[0]) == BlockState::kFree);
}

TEST_CASE("free blocks go before cached ones, and of these the least recently used") {
  BlockPool pool = pool_of(4);
  const BlockId a = cached_block(pool, 10);
  const BlockId spare = pool.allocate().block;
  const BlockId b = pool.allocate().block;
  pool.set_content(b, ContentId(11));
  pool.release(b);
  const BlockId c = pool.allocate().block;
  pool.set_content(c, ContentId(12));
  pool.release(c);
  pool.release(spare);
  pool.hold(a);  // a hit, then released: now the most recent
  pool.release(a);
  CHECK(pool.allocate().evicted == kNoContent);
  const BlockPool::Allocation second = pool.allocate();
  CHECK(second.block == b);
  CHECK(second.evicted == ContentId(11));
  CHECK(pool.content(b) == kNoContent);
  CHECK(pool.allocate().block == c);
  CHECK(pool.allocate().block == a);
}

TEST_CASE("a hit takes a block off the list of those that can be evicted") {
  BlockPool pool = pool_of(2);
  const BlockId hit = cached_block(pool, 1);
  CHECK(pool.evictable() == BlockCount(1));
  pool.hold(hit);
  CHECK(pool.evictable() == BlockCount(0));
  CHECK(pool.available() == BlockCount(1));
  CHECK(pool.allocate().block != hit);
  CHECK_THROWS_AS(pool.allocate(), ContractFailure);
}

TEST_CASE("a pinned block is not evicted until it is unpinned") {
  BlockPool pool = pool_of(1);
  const BlockId block = cached_block(pool, 1);
  pool.pin(block);
  CHECK(pool.state(block) == BlockState::kPinned);
  CHECK(pool.available() == BlockCount(0));
  pool.hold(block);
  CHECK_FALSE(pool.is_exclusive(block));
  CHECK(pool.release(block) == BlockState::kPinned);
  pool.unpin(block);
  CHECK(pool.allocate().evicted == ContentId(1));
}

TEST_CASE("forgotten content makes a block free, unless it is held") {
  BlockPool pool = pool_of(3);
  const BlockId evictable = cached_block(pool, 1);
  pool.forget_content(evictable);
  CHECK(pool.state(evictable) == BlockState::kFree);
  const BlockId pinned = cached_block(pool, 2);
  pool.pin(pinned);
  pool.forget_content(pinned);
  CHECK(pool.state(pinned) == BlockState::kFree);
  CHECK_FALSE(pool.is_pinned(pinned));
  const BlockId held = pool.allocate().block;
  pool.set_content(held, ContentId(3));
  pool.forget_content(held);
  CHECK(pool.state(held) == BlockState::kHeld);
  CHECK(pool.release(held) == BlockState::kFree);
  CHECK(pool.free() == BlockCount(3));
}

TEST_CASE("the mark of an uneven block goes with its last holder") {
  BlockPool pool = pool_of(1);
  const BlockId block = pool.allocate().block;
  pool.hold(block);
  pool.mark_uneven(block);
  CHECK(pool.holders(block) == 2);
  pool.release(block);
  CHECK(pool.is_uneven(block));
  CHECK(pool.is_exclusive(block));
  pool.release(block);
  CHECK_FALSE(pool.is_uneven(block));
}

TEST_CASE("misuse of a pool is a broken contract") {
  BlockPool pool = pool_of(3, 1);
  const BlockId free(1);
  CHECK_THROWS_AS(pool.release(free), ContractFailure);
  CHECK_THROWS_AS(pool.hold(free), ContractFailure);
  CHECK_THROWS_AS(pool.forget_content(free), ContractFailure);
  CHECK_THROWS_AS(pool.pin(free), ContractFailure);
  CHECK_THROWS_AS(pool.unpin(free), ContractFailure);
  CHECK_THROWS_AS(pool.set_content(free, ContentId(0)), ContractFailure);
  const BlockId once = pool.allocate().block;
  pool.release(once);
  CHECK_THROWS_AS(pool.release(once), ContractFailure);
}

TEST_CASE("pool sizes out of range are refused by name") {
  const auto refusal = [](std::int64_t blocks, std::int64_t nulls) {
    return BlockPool::create(BlockCount(blocks), BlockCount(nulls)).status();
  };
  CHECK(refusal(1, 0) == Status::ok());
  CHECK(refusal(0, 0).message() == "block pool: num_blocks = 0; expected 1 to 2147483647");
  CHECK(refusal(std::int64_t{1} << 31, 0).code() == StatusCode::kInvalidInput);
  CHECK(refusal(2, 1) == Status::ok());
  CHECK(refusal(2, 2).message() ==
        "block pool: null_blocks = 2; expected 0 to one less than the 2 blocks");
  CHECK(refusal(2, -1).code() == StatusCode::kInvalidInput);
  const auto contents_refused = [](std::int64_t contents) {
    return BlockPool::create(BlockCount(1), BlockCount(0), contents).status();
  };
  CHECK(contents_refused(0) == Status::ok());
  CHECK(contents_refused(-1).code() == StatusCode::kInvalidInput);
  CHECK(contents_refused(std::int64_t{1} << 31).message() ==
        "block pool: num_contents = 2147483648; expected 0 to 2147483647");
}

// A model of the pool with containers: free blocks and evictable blocks, in order.
class PlainPool {
 public:
  explicit PlainPool(std::int32_t blocks) {
    for (std::int32_t id = blocks - 1; id >= 0; --id) free_.push_back(id);
  }
  std::int32_t allocate() {
    std::int32_t id = 0;
    if (!free_.empty()) {
      id = free_.back();
      free_.pop_back();
    } else {
      id = evictable_.front();
      evictable_.pop_front();
    }
    return id;
  }
  void release(std::int32_t id, bool has_content) {
    has_content ? evictable_.push_back(id) : free_.push_back(id);
  }
  void hold(std::int32_t id) { std::erase(evictable_, id); }
  bool is_evictable(std::int32_t id) const {
    return std::ranges::find(evictable_, id) != evictable_.end();
  }
  std::int64_t available() const { return std::ssize(free_) + std::ssize(evictable_); }

 private:
  std::vector<std::int32_t> free_;
  std::deque<std::int32_t> evictable_;
};

TEST_CASE("after any history a pool allocates the blocks that a plain pool allocates") {
  RandomStream stream = RandomStream(1).split("block pool");
  constexpr std::int32_t kBlocks = 7;
  BlockPool pool = pool_of(kBlocks);
  PlainPool plain(kBlocks);
  std::vector<BlockId> held;
  std::int64_t evictions = 0;
  std::int64_t hits = 0;
  for (int step = 0; step < 20'000; ++step) {
    const BlockId any(static_cast<std::int32_t>(stream.next_below(kBlocks)));
    if (stream.next_below(2) == 0 && pool.available() > BlockCount(0)) {
      const BlockPool::Allocation given = pool.allocate();
      REQUIRE(given.block.value() == plain.allocate());
      evictions += given.evicted != kNoContent ? 1 : 0;
      held.push_back(given.block);
      const ContentId content(static_cast<std::int32_t>(stream.next_below(kContents)));
      const bool is_new = pool.block_with(content) == kNoBlock;
      if (is_new && stream.next_below(2) == 0) pool.set_content(given.block, content);
    } else if (plain.is_evictable(any.value()) && stream.next_below(3) == 0) {
      pool.hold(any);
      plain.hold(any.value());
      held.push_back(any);
      ++hits;
    } else if (!held.empty()) {
      const auto place = held.begin() + static_cast<std::ptrdiff_t>(stream.next_below(held.size()));
      const bool has_content = pool.content(*place) != kNoContent;
      pool.release(*place);
      plain.release(place->value(), has_content);
      held.erase(place);
    }
    REQUIRE(pool.available().value() == plain.available());
    for (std::int32_t id = 0; id < kContents; ++id) {
      const BlockId block = pool.block_with(ContentId(id));
      if (block != kNoBlock) REQUIRE(pool.content(block) == ContentId(id));
    }
  }
  CHECK(evictions > 1000);
  CHECK(hits > 100);
}

}  // namespace
}  // namespace recto::cache
