#pragma once

// Physical blocks, without what is in them: who holds how many, which are free, and which could be
// had by evicting. All operations are O(1), and none allocates after `create`.
//
//   BlockPool pool = BlockPool::create(BlockCount(100), BlockCount(1)).value();
//   const BlockPool::Allocation given = pool.allocate();  // held once
//   if (given.evicted != kNoContent) forget(given.evicted);
//   pool.set_content(given.block, ContentId(7));
//   pool.release(given.block);  // evictable
//   pool.hold(given.block);     // a hit: held again
//
// Misuse (a block that is not held is released, ...) is a broken contract; BlockManager is what
// callers outside of this folder talk to.

#include <cstdint>

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

  // Blocks [0, null_blocks) are set apart. Invalid input unless 0 <= null_blocks < num_blocks;
  // exhausted if there is no memory. O(num_blocks).
  static Result<BlockPool> create(BlockCount num_blocks, BlockCount null_blocks);
  // A pool without blocks.
  BlockPool() = default;

  // A block that is held once, is not pinned and has no content. There must be one available.
  Allocation allocate();
  // One table entry more. The block has holders or content.
  void hold(BlockId block) {
    if (holders(block) == 0) revive(block);
    ++at(block).holders;
  }
  // One table entry fewer; returns what the block is now.
  BlockState release(BlockId block) {
    if (holders(block) < 2) return release_last(block);
    --at(block).holders;
    return BlockState::kHeld;
  }

  // For plans that count references and leave all as it was: a holder fewer, and no more than that,
  // until it is undone.
  void pretend_release(BlockId block) { --at(block).holders; }
  void undo_release(BlockId block) { ++at(block).holders; }

  // The block is held and has no content.
  void set_content(BlockId block, ContentId content);
  // The content can't be found any more: an evictable or pinned block is free now, a held one stays
  // with its holders. It is pinned no more.
  void forget_content(BlockId block);

  // The block has content. Evictable becomes pinned.
  void pin(BlockId block);
  // The block is pinned. If nobody holds it, it is the most recently used of the evictable now.
  void unpin(BlockId block);

  BlockState state(BlockId block) const;
  std::int32_t holders(BlockId block) const { return at(block).holders & kCountMask; }
  bool is_pinned(BlockId block) const { return (at(block).holders & kPinned) != 0; }
  ContentId content(BlockId block) const { return at(block).content; }
  // Whether its one holder may write into it without changing what anybody else reads, once its
  // content, if any, is forgotten.
  bool is_exclusive(BlockId block) const { return (at(block).holders & ~kUneven) == 1; }

  // A note about a held block, gone when nobody holds it: its holders do not use the same slots, or
  // not all though it has content.
  bool is_uneven(BlockId block) const { return (at(block).holders & kUneven) != 0; }
  void mark_uneven(BlockId block) { at(block).holders |= kUneven; }
  void mark_even(BlockId block) { at(block).holders &= ~kUneven; }

  BlockCount size() const { return BlockCount(blocks_.ssize()); }
  BlockCount null_blocks() const { return BlockCount(null_); }
  BlockCount free() const { return BlockCount(free_); }
  BlockCount evictable() const { return BlockCount(evictable_); }
  BlockCount pinned() const { return BlockCount(pinned_); }  // that nobody holds
  BlockCount held() const { return size() - null_blocks() - free() - evictable() - pinned(); }
  BlockCount available() const { return free() + evictable(); }

  // The ends of the lists, for who wants to walk them; kNoBlock if empty.
  BlockId oldest_evictable() const { return BlockId(oldest_); }
  BlockId first_free() const { return BlockId(first_free_); }
  // The next in its list: more recently used, or freed before.
  BlockId next(BlockId block) const { return BlockId(at(block).newer); }
  BlockId previous(BlockId block) const { return BlockId(at(block).older); }  // evictable only

  static constexpr std::int64_t metadata_bytes_per_block();

 private:
  static constexpr std::int32_t kNone = -1;
  static constexpr std::int32_t kPinned = 1 << 30;
  static constexpr std::int32_t kUneven = 1 << 29;
  static constexpr std::int32_t kCountMask = kUneven - 1;

  struct Block {
    std::int32_t holders;  // table entries, and the two flags; 0 if free or evictable
    std::int32_t older;    // of evictable blocks
    std::int32_t newer;    // of evictable blocks; the next of free ones
    ContentId content;
  };

  Block& at(BlockId block) { return blocks_[block.value()]; }
  const Block& at(BlockId block) const { return blocks_[block.value()]; }
  void revive(BlockId block);
  BlockState release_last(BlockId block);
  void append_evictable(BlockId block);
  void unlink_evictable(BlockId block);
  void push_free(BlockId block);

  FixedArray<Block> blocks_;
  std::int64_t null_ = 0;
  std::int64_t free_ = 0;
  std::int64_t evictable_ = 0;
  std::int64_t pinned_ = 0;
  std::int32_t first_free_ = kNone;
  std::int32_t oldest_ = kNone;
  std::int32_t newest_ = kNone;
};

constexpr std::int64_t BlockPool::metadata_bytes_per_block() { return sizeof(Block); }

static_assert(BlockPool::metadata_bytes_per_block() <= 32);

}  // namespace recto::cache
