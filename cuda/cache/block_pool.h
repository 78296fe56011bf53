#pragma once

// Physical blocks: the number of holders of each, free blocks, the content of each block, and
// evictable blocks. The meaning of a content is known elsewhere. All operations are O(1), except
// `create` and `hold_again`, which are O(blocks). None allocates after `create`.
//
//   BlockPool pool = BlockPool::create(BlockCount(100), BlockCount(1), 10).value();
//   const BlockPool::Allocation given = pool.allocate();  // held once
//   if (given.evicted != kNoContent) forget(given.evicted);
//   pool.set_content(given.block, ContentId(7));
//   pool.release(given.block);                 // evictable
//   pool.hold(pool.block_with(ContentId(7)));  // a hit: held again
//
// Misuse (such as releasing a block that is not held) is a broken contract. Callers outside this
// folder use BlockManager.

#include <cstdint>
#include <span>

#include "core/status.h"
#include "core/units.h"
#include "cuda/cache/fixed_array.h"
#include "cuda/cache/handle.h"

namespace recto::cache {

enum class BlockState : std::uint8_t {
  kNull,       // set apart, never allocated
  kFree,       // not held, without content; allocated first, last in first out
  kEvictable,  // not held, content can be found; allocated next, least recently used first
  kPinned,     // not held, content can be found, and is not evicted
  kHeld,       // in one or more tables; may have content, and may be pinned
};

class BlockPool {
 public:
  // A block, and the content that was evicted for it, or kNoContent.
  struct Allocation {
    BlockId block{};
    ContentId evicted = kNoContent;
  };

  // Blocks [0, null_blocks) are never allocated; contents are numbered [0, num_contents). Invalid
  // input unless 0 <= null_blocks < num_blocks and num_contents fits; exhausted if there is no
  // memory. O(num_blocks + num_contents).
  static Result<BlockPool> create(BlockCount num_blocks, BlockCount null_blocks,
                                  std::int64_t num_contents = 0);
  // A pool without blocks.
  BlockPool() = default;

  // Allocates a block that is held once, is not pinned and has no content. One must be available.
  Allocation allocate();
  // Adds a holder (a table entry). The block must have holders or content.
  void hold(BlockId block) {
    if (holders(block) == 0) revive(block);
    ++at(block).use;
  }
  // The same for many blocks, all of which must have holders. O(blocks).
  void hold_again(std::span<const BlockId> blocks) {
    for (const BlockId block : blocks) ++at(block).use;
  }
  // Removes a holder; returns the block's new state.
  BlockState release(BlockId block) {
    if (holders(block) < 2) return release_last(block);
    --at(block).use;
    return BlockState::kHeld;
  }

  // For plans that count references and then restore them: removes a holder, with no other effect,
  // until undone.
  void pretend_release(BlockId block) { --at(block).use; }
  void undo_release(BlockId block) { ++at(block).use; }

  // The block must be held and have no content, and no block may have this content.
  void set_content(BlockId block, ContentId content);
  // Makes the content unfindable: an evictable or pinned block becomes free, a held one stays with
  // its holders. The block is no longer pinned.
  void forget_content(BlockId block);

  // The block must have content. An evictable block becomes pinned.
  void pin(BlockId block);
  // The block must be pinned. Without a holder, it becomes the most recently used evictable block.
  void unpin(BlockId block);

  BlockState state(BlockId block) const;
  std::int32_t holders(BlockId block) const {
    return is_listed(block) ? 0 : static_cast<std::int32_t>(at(block).use & kCountMask);
  }
  bool is_pinned(BlockId block) const { return (at(block).use & (kListed | kPinned)) == kPinned; }
  // The content of the block, or kNoContent.
  ContentId content(BlockId block) const;
  // The block that has the content, or kNoBlock.
  BlockId block_with(ContentId content) const { return places_[content.value()]; }
  // True if the block has exactly one holder and is not pinned. The holder may write to it once its
  // content, if any, is forgotten.
  bool is_exclusive(BlockId block) const { return (at(block).use & ~kUneven) == 1; }

  // True if the held block is marked: its holders do not all use the same slots, or it has content
  // and not all of its slots are used. The mark goes with the last holder.
  bool is_uneven(BlockId block) const { return (at(block).use & (kListed | kUneven)) == kUneven; }
  void mark_uneven(BlockId block) { at(block).use |= kUneven; }
  void mark_even(BlockId block) { at(block).use &= ~kUneven; }

  BlockCount size() const { return BlockCount(blocks_.ssize()); }
  BlockCount null_blocks() const { return BlockCount(null_); }
  BlockCount free() const { return BlockCount(free_); }
  BlockCount evictable() const { return BlockCount(evictable_); }
  BlockCount pinned() const { return BlockCount(pinned_); }  // without a holder
  BlockCount held() const { return size() - null_blocks() - free() - evictable() - pinned(); }
  BlockCount available() const { return free() + evictable(); }

  // The ends of the lists, for walking them; kNoBlock if empty.
  BlockId oldest_evictable() const { return block_or_none(oldest_); }
  BlockId first_free() const { return BlockId(first_free_); }
  // The next block in its list: the next more recently used one, or the one freed before.
  BlockId next(BlockId block) const {
    return is_listed(block) ? block_or_none(newer(block)) : BlockId(at(block).link);
  }
  BlockId previous(BlockId block) const { return block_or_none(older(block)); }  // evictable only

  // The size of a block's record, without the 4 bytes for each content.
  static constexpr std::int64_t bytes_per_block();
  std::int64_t bytes() const { return blocks_.bytes() + places_.bytes(); }

 private:
  static constexpr std::int32_t kNone = -1;
  static constexpr std::uint32_t kListed = 1U << 31;
  static constexpr std::uint32_t kPinned = 1U << 30;
  static constexpr std::uint32_t kUneven = 1U << 29;
  static constexpr std::uint32_t kCountMask = kUneven - 1;

  // A held or pinned block is in no list, and an evictable block has no holders, so the same bytes
  // serve for both. The list of evictable blocks links contents rather than blocks: a block's own
  // content is stored in its neighbour.
  struct Block {
    std::uint32_t use;  // holders, and the flags; evictable: kListed and the older content
    std::int32_t link;  // its content; evictable: the newer content; free: the next free block
  };

  Block& at(BlockId block) { return blocks_[block.value()]; }
  const Block& at(BlockId block) const { return blocks_[block.value()]; }
  bool is_listed(BlockId block) const { return (at(block).use & kListed) != 0; }
  // The neighbours of an evictable block in its list; kNoContent at the ends.
  ContentId older(BlockId block) const { return as_older(at(block).use); }
  ContentId newer(BlockId block) const { return ContentId(at(block).link); }
  // The older content in 31 bits. All ones, which is no valid content, means none.
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
