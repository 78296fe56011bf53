#include "cuda/cache/block_pool.h"

#include <limits>

#include "core/contract.h"
#include "cuda/cache/message.h"

namespace recto::cache {

Result<BlockPool> BlockPool::create(BlockCount num_blocks, BlockCount null_blocks,
                                    std::int64_t num_contents) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  if (num_blocks.value() < 1 || num_blocks.value() > kMost) {
    return Status::invalid_input(
        message("block pool: num_blocks = ", num_blocks, "; expected 1 to ", kMost));
  }
  if (null_blocks.value() < 0 || null_blocks >= num_blocks) {
    return Status::invalid_input(message("block pool: null_blocks = ", null_blocks,
                                         "; expected 0 to one less than the ", num_blocks,
                                         " blocks"));
  }
  if (num_contents < 0 || num_contents > kMost) {
    return Status::invalid_input(
        message("block pool: num_contents = ", num_contents, "; expected 0 to ", kMost));
  }
  BlockPool pool;
  RECTO_RETURN_IF_ERROR(pool.blocks_.allocate(num_blocks.value(), "blocks"));
  RECTO_RETURN_IF_ERROR(pool.places_.allocate(num_contents, "places of contents", kNoBlock));
  pool.null_ = null_blocks.value();
  for (Block& null : pool.blocks_.first(pool.null_)) null = {.use = 0, .link = kNone};
  // Low ids are allocated first.
  for (std::int64_t id = num_blocks.value() - 1; id >= pool.null_; --id) {
    pool.push_free(BlockId(static_cast<std::int32_t>(id)));
  }
  return pool;
}

BlockPool::Allocation BlockPool::allocate() {
  Allocation given;
  if (first_free_ != kNone) {
    given.block = BlockId(first_free_);
    first_free_ = at(given.block).link;
    --free_;
  } else {
    RECTO_CHECK_NE(oldest_, kNoContent);
    given.evicted = oldest_;
    given.block = block_with(oldest_);
    unlink_evictable(given.block);
    places_[given.evicted.value()] = kNoBlock;
  }
  at(given.block) = {.use = 1, .link = kNone};
  return given;
}

void BlockPool::revive(BlockId block) {
  if (is_pinned(block)) {
    --pinned_;
    return;
  }
  const ContentId known = content(block);
  RECTO_CHECK_NE(known, kNoContent);
  unlink_evictable(block);
  at(block) = {.use = 0, .link = known.value()};
}

BlockState BlockPool::release_last(BlockId block) {
  RECTO_CHECK_EQ(holders(block), 1);
  Block& released = at(block);
  released.use &= kPinned;
  if (released.use != 0) {
    ++pinned_;
    return BlockState::kPinned;
  }
  if (released.link == kNone) {
    push_free(block);
    return BlockState::kFree;
  }
  append_evictable(block);
  return BlockState::kEvictable;
}

void BlockPool::set_content(BlockId block, ContentId content) {
  RECTO_CHECK_GT(holders(block), 0);
  RECTO_CHECK_EQ(this->content(block), kNoContent);
  BlockId& place = places_[content.value()];
  RECTO_CHECK_EQ(place, kNoBlock);
  place = block;
  at(block).link = content.value();
}

void BlockPool::forget_content(BlockId block) {
  const ContentId known = content(block);
  RECTO_CHECK_NE(known, kNoContent);
  places_[known.value()] = kNoBlock;
  const BlockState before = state(block);
  if (before == BlockState::kHeld) {
    at(block).use &= ~kPinned;
    at(block).link = kNone;
    return;
  }
  if (before == BlockState::kEvictable) unlink_evictable(block);
  if (before == BlockState::kPinned) --pinned_;
  push_free(block);
}

void BlockPool::pin(BlockId block) {
  const ContentId known = content(block);
  RECTO_CHECK_NE(known, kNoContent);
  RECTO_CHECK(!is_pinned(block));
  if (holders(block) == 0) {
    unlink_evictable(block);
    at(block) = {.use = 0, .link = known.value()};
    ++pinned_;
  }
  at(block).use |= kPinned;
}

void BlockPool::unpin(BlockId block) {
  RECTO_CHECK(is_pinned(block));
  at(block).use &= ~kPinned;
  if (holders(block) > 0) return;
  --pinned_;
  append_evictable(block);
}

BlockState BlockPool::state(BlockId block) const {
  if (block.value() < null_) return BlockState::kNull;
  if (is_listed(block)) return BlockState::kEvictable;
  if (holders(block) > 0) return BlockState::kHeld;
  return is_pinned(block) ? BlockState::kPinned : BlockState::kFree;
}

ContentId BlockPool::content(BlockId block) const {
  if (is_listed(block)) {
    return newer(block) == kNoContent ? newest_ : older(block_with(newer(block)));
  }
  return at(block).use == 0 ? kNoContent : ContentId(at(block).link);
}

void BlockPool::push_free(BlockId block) {
  at(block) = {.use = 0, .link = first_free_};
  first_free_ = block.value();
  ++free_;
}

// The block must be in no list; its link holds its content.
void BlockPool::append_evictable(BlockId block) {
  const ContentId content(at(block).link);
  at(block) = {.use = as_use(newest_), .link = kNoContent.value()};
  if (newest_ == kNoContent) {
    oldest_ = content;
  } else {
    at(block_with(newest_)).link = content.value();
  }
  newest_ = content;
  ++evictable_;
}

void BlockPool::unlink_evictable(BlockId block) {
  const ContentId before = older(block);
  const ContentId behind = newer(block);
  if (before == kNoContent) {
    oldest_ = behind;
  } else {
    at(block_with(before)).link = behind.value();
  }
  if (behind == kNoContent) {
    newest_ = before;
  } else {
    at(block_with(behind)).use = as_use(before);
  }
  --evictable_;
}

}  // namespace recto::cache
