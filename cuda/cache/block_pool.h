#pragma once

// Physical blocks: who holds how many, which are free, which content is where, and which blocks
// could be had by evicting; what a content is, others know. All operations are O(1), but `create`
// and `hold_again`, which are O(blocks). None allocates after `create`.
//
//   BlockPool pool = BlockPool::create(BlockCount(100), BlockCount(1), 10).value();
//   const BlockPool::Allocation given = pool.allocate();  // held once
//   if (given.evicted != kNoContent) forget(given.evicted);
//   pool.set_content(given.block, ContentId(7));
//   pool.release(given.block);                 // evictable
//   pool.hold(pool.block_with(ContentId(7)));  // a hit: held again
//
// Misuse (a block that is not held is released, ...) is a broken contract; BlockManager is what
// callers outside of this folder talk to.

#include <cstdint>
#include <span>

#include "core/status.h"
#include "core/units.h"
#include "cuda/cache/cache_ids.h"
#include "cuda/cache/fixed_array.h"

namespace recto::cache {

enum class BlockState : std::uint8_t {
  kNull,       // set apart
  kFree,       // nobody's, without content; given out first, last in first out
  kEvictable,  // nobody's, its content can be found; given out then, least recently used first
  kPinned,     // nobody's, its content can be found, and is to stay
  kHeld,       // in one table or several; may have content, and be pinned as well
};

class BlockPool {
 public:
  // A block, and the content that was evicted for it, or kNoContent.
  struct Allocation {
    BlockId block{};
    ContentId evicted = kNoContent;
  };

  // Blocks [0, null_blocks) are set apart; contents are [0, num_contents). Invalid input unless
  // 0 <= null_blocks < num_blocks and num_contents fits; exhausted if there is no memory.
  // O(num_blocks + num_contents).
  static Result<BlockPool> create(BlockCount num_blocks, BlockCount null_blocks,
                                  std::int64_t num_contents = 0);
  // A pool without blocks.
  BlockPool() = default;

  // A block that is held once, is not pinned and has no content. There must be one available.
  Allocation allocate();
  // One table entry more. The block has holders or content.
  void hold(BlockId block) {
    if (holders(block) == 0) revive(block);
    ++at(block).use;
  }
  // The same of many, all of which have holders. O(blocks).
  void hold_again(std::span<const BlockId> blocks) {
    for (const BlockId block : blocks) ++at(block).use;
  }
  // One table entry fewer; returns what the block is now.
  BlockState release(BlockId block) {
    if (holders(block) < 2) return release_last(block);
    --at(block).use;
    return BlockState::kHeld;
  }

  // For plans that count references and leave all as it was: a holder fewer, and no more than that,
  // until it is undone.
  void pretend_release(BlockId block) { --at(block).use; }
  void undo_release(BlockId block) { ++at(block).use; }

  // The block is held and has no content, and no block has this one.
  void set_content(BlockId block, ContentId content);
  // The content can't be found any more: an evictable or pinned block is free now, a held one stays
  // with its holders. It is pinned no more.
  void forget_content(BlockId block);

  // The block has content. Evictable becomes pinned.
  void pin(BlockId block);
  // The block is pinned. If nobody holds it, it is the most recently used of the evictable now.
  void unpin(BlockId block);

  BlockState state(BlockId block) const;
  std::int32_t holders(BlockId block) const {
    return is_listed(block) ? 0 : static_cast<std::int32_t>(at(block).use & kCountMask);
  }
  bool is_pinned(BlockId block) const { return (at(block).use & (kListed | kPinned)) == kPinned; }
  // What is in the block, or kNoContent.
  ContentId content(BlockId block) const;
  // The block that it is in, or kNoBlock.
  BlockId block_with(ContentId content) const { return places_[content.value()]; }
  // Whether its one holder may write into it without changing what anybody else reads, once its
  // content, if any, is forgotten.
  bool is_exclusive(BlockId block) const { return (at(block).use & ~kUneven) == 1; }

  // A note about a held block, gone when nobody holds it: its holders do not use the same slots, or
  // not all though it has content.
  bool is_uneven(BlockId block) const { return (at(block).use & (kListed | kUneven)) == kUneven; }
  void mark_uneven(BlockId block) { at(block).use |= kUneven; }
  void mark_even(BlockId block) { at(block).use &= ~kUneven; }

  BlockCount size() const { return BlockCount(blocks_.ssize()); }
  BlockCount null_blocks() const { return BlockCount(null_); }
  BlockCount free() const { return BlockCount(free_); }
  BlockCount evictable() const { return BlockCount(evictable_); }
  BlockCount pinned() const { return BlockCount(pinned_); }  // that nobody holds
  BlockCount held() const { return size() - null_blocks() - free() - evictable() - pinned(); }
  BlockCount available() const { return free() + evictable(); }

  // The ends of the lists, for who wants to walk them; kNoBlock if empty.
  BlockId oldest_evictable() const { return block_or_none(oldest_); }
  BlockId first_free() const { return BlockId(first_free_); }
  // The next in its list: more recently used, or freed before.
  BlockId next(BlockId block) const {
    return is_listed(block) ? block_or_none(newer(block)) : BlockId(at(block).link);
  }
  BlockId previous(BlockId block) const { return block_or_none(older(block)); }  // evictable only

  // A block's record, without the 4 bytes that each content takes.
  static constexpr std::int64_t bytes_per_block();
  std::int64_t bytes() const { return blocks_.bytes() + places_.bytes(); }

 private:
  static constexpr std::int32_t kNone = -1;
  static constexpr std::uint32_t kListed = 1U << 31;
  static constexpr std::uint32_t kPinned = 1U << 30;
  static constexpr std::uint32_t kUneven = 1U << 29;
  static constexpr std::uint32_t kCountMask = kUneven - 1;

  // Who is held or pinned is in no list, and who is in the list of the evictable has no holders:
  // the same bytes say the one or the other. That list goes from content to content, so that a
  // block need not say its own beside: its neighbour does.
  struct Block {
    std::uint32_t use;  // holders, and the flags; evictable: kListed and the older content
    std::int32_t link;  // its content; evictable: the newer content; free: the next of the free
  };

  Block& at(BlockId block) { return blocks_[block.value()]; }
  const Block& at(BlockId block) const { return blocks_[block.value()]; }
  bool is_listed(BlockId block) const { return (at(block).use & kListed) != 0; }
  // Of evictable blocks; kNoContent at the ends.
  ContentId older(BlockId block) const { return as_older(at(block).use); }
  ContentId newer(BlockId block) const { return ContentId(at(block).link); }
  // In 31 bits, of which all ones, that no content has, are none.
  static ContentId as_older(std::uint32_t use) {
    return use == as_use(kNoContent) ? kNoContent
                                     : ContentId(static_cast<std::int32_t>(use & ~kListed));
  }
  static std::uint32_t as_use(ContentId older) {
    return kListed | static_cast<std::uint32_t>(older.value());
  }
  BlockId block_or_none(ContentId content) const {
    return content == kNoContent ? kNoBlock : block_with(content);
  }
  void revive(BlockId block);
  BlockState release_last(BlockId block);
  void append_evictable(BlockId block);
  void unlink_evictable(BlockId block);
  void push_free(BlockId block);

  FixedArray<Block> blocks_;
  FixedArray<BlockId> places_;  // [num_contents]
  std::int64_t null_ = 0;
  std::int64_t free_ = 0;
  std::int64_t evictable_ = 0;
  std::int64_t pinned_ = 0;
  std::int32_t first_free_ = kNone;
  ContentId oldest_ = kNoContent;
  ContentId newest_ = kNoContent;
};

constexpr std::int64_t BlockPool::bytes_per_block() { return sizeof(Block); }

static_assert(BlockPool::bytes_per_block() == 8);

}  // namespace recto::cache
