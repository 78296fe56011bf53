#include "cuda/cache/block_pool.h"

#include <limits>
#include <string>
#include <utility>

#include "core/contract.h"

namespace recto::cache {

Result<BlockPool> BlockPool::create(BlockCount num_blocks, BlockCount null_blocks) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  if (num_blocks.value() < 1 || num_blocks.value() > kMost) {
    return Status::invalid_input("block pool: num_blocks = " + std::to_string(num_blocks.value()) +
                                 "; expected 1 to " + std::to_string(kMost));
  }
  if (null_blocks.value() < 0 || null_blocks >= num_blocks) {
    return Status::invalid_input(
        "block pool: null_blocks = " + std::to_string(null_blocks.value()) +
        "; expected 0 to one less than the " + std::to_string(num_blocks.value()) + " blocks");
  }
  auto blocks = FixedArray<Block>::create(num_blocks.value(), "blocks");
  if (!blocks.is_ok()) return blocks.status();
  BlockPool pool;
  pool.blocks_ = std::move(blocks).value();
  pool.blocks_.fill({.holders = 0, .older = kNone, .newer = kNone, .content = kNoContent});
  pool.null_ = null_blocks.value();
  // Low ids are given out first.
  for (std::int64_t id = num_blocks.value() - 1; id >= pool.null_; --id) {
    pool.push_free(BlockId(static_cast<std::int32_t>(id)));
  }
  return pool;
}

BlockPool::Allocation BlockPool::allocate() {
  Allocation given;
  if (first_free_ != kNone) {
    given.block = BlockId(first_free_);
    first_free_ = at(given.block).newer;
    --free_;
  } else {
    RECTO_CHECK_NE(oldest_, kNone);
    given.block = BlockId(oldest_);
    unlink_evictable(given.block);
    given.evicted = std::exchange(at(given.block).content, kNoContent);
  }
  at(given.block).holders = 1;
  return given;
}

void BlockPool::revive(BlockId block) {
  if (is_pinned(block)) {
    --pinned_;
    return;
  }
  RECTO_CHECK_NE(content(block), kNoContent);
  unlink_evictable(block);
}

BlockState BlockPool::release_last(BlockId block) {
  RECTO_CHECK_EQ(holders(block), 1);
  Block& released = at(block);
  released.holders &= kPinned;
  if (released.holders != 0) {
    ++pinned_;
    return BlockState::kPinned;
  }
  if (released.content == kNoContent) {
    push_free(block);
    return BlockState::kFree;
  }
  append_evictable(block);
  return BlockState::kEvictable;
}

void BlockPool::set_content(BlockId block, ContentId content) {
  RECTO_CHECK_GT(holders(block), 0);
  RECTO_CHECK_EQ(at(block).content, kNoContent);
  at(block).content = content;
}

void BlockPool::forget_content(BlockId block) {
  RECTO_CHECK_NE(content(block), kNoContent);
  const BlockState before = state(block);
  at(block).content = kNoContent;
  at(block).holders &= ~kPinned;
  if (before == BlockState::kHeld) return;
  if (before == BlockState::kEvictable) unlink_evictable(block);
  if (before == BlockState::kPinned) --pinned_;
  push_free(block);
}

void BlockPool::pin(BlockId block) {
  RECTO_CHECK_NE(content(block), kNoContent);
  RECTO_CHECK(!is_pinned(block));
  if (holders(block) == 0) {
    unlink_evictable(block);
    ++pinned_;
  }
  at(block).holders |= kPinned;
}

void BlockPool::unpin(BlockId block) {
  RECTO_CHECK(is_pinned(block));
  at(block).holders &= ~kPinned;
  if (holders(block) > 0) return;
  --pinned_;
  append_evictable(block);
}

BlockState BlockPool::state(BlockId block) const {
  if (block.value() < null_) return BlockState::kNull;
  if (holders(block) > 0) return BlockState::kHeld;
  if (is_pinned(block)) return BlockState::kPinned;
  return content(block) == kNoContent ? BlockState::kFree : BlockState::kEvictable;
}

void BlockPool::push_free(BlockId block) {
  at(block).newer = first_free_;
  first_free_ = block.value();
  ++free_;
}

void BlockPool::append_evictable(BlockId block) {
  Block& newest = at(block);
  newest.older = newest_;
  newest.newer = kNone;
  (newest_ == kNone ? oldest_ : blocks_[newest_].newer) = block.value();
  newest_ = block.value();
  ++evictable_;
}

void BlockPool::unlink_evictable(BlockId block) {
  const Block& out = at(block);
  (out.older == kNone ? oldest_ : blocks_[out.older].newer) = out.newer;
  (out.newer == kNone ? newest_ : blocks_[out.newer].older) = out.older;
  --evictable_;
}

}  // namespace recto::cache
