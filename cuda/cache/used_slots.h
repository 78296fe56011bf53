#pragma once

// How many slots of each layer group are in use, kept as running sums. A slot that several tables
// share counts once, and is used if any of its holders uses it, that is, has a token there that its
// next row sees.
//
// The holders of a block almost always use the same slots of it, and all of them if the block can
// be found by others; then a change of one holder needs no look at the rest. Where that may not be
// so (after a truncation into a block that others see, or where the edge of a window lies inside a
// block), the block is marked uneven, and changes are found by comparing its holders: O(sequences).

#include <cstdint>
#include <vector>

#include "cuda/cache/block_pool.h"
#include "cuda/cache/block_tables.h"
#include "cuda/cache/cache_geometry.h"
#include "cuda/cache/sequence_table.h"

namespace recto::cache {

class UsedSlots {
 public:
  // What it works on, all of which must outlive it. `row` is what sequences have in this pool.
  struct Scope {
    const CacheGeometry* geometry = nullptr;
    const SequenceTable* sequences = nullptr;
    const BlockTables* tables = nullptr;
    BlockPool* pool = nullptr;
    TableRow Sequence::*row = nullptr;
  };

  explicit UsedSlots(const Scope& scope);

  // Slots of a group in use. O(windows).
  std::int64_t count(std::int32_t group) const;

  // A sequence gets a block, which was in state `before`.
  void join(const TablePlace& place, BlockId block, BlockState before);
  // A holder is about to give a block back.
  void leave(const TablePlace& place, BlockId block);
  // The block can be found by others from now on.
  void publish(const TablePlace& place, BlockId block);

  // The sequence's length changes from what its row says to `length`. Of the blocks in which the
  // two lengths differ, those that its tables have are counted. O(those blocks).
  void change_length(std::int32_t sequence, std::int64_t length);
  // The same for a sequence that grows, and whose blocks from its old length on are its own.
  void grow(std::int32_t sequence, std::int64_t length);
  // Sequences in the middle of a run (Sequence::run_end), all of one level, took so many tokens in
  // total.
  void count_run(std::int32_t level, std::int64_t tokens) {
    run_tokens_[static_cast<std::size_t>(level)] += tokens;
  }

  // Calls visit(sequence index) for the other holders of a block. O(sequences).
  template <typename Visit>
  void visit_other_holders(const TablePlace& place, BlockId block, const Visit& visit) const {
    for (std::int32_t other = 0; other < scope_.sequences->used_end(); ++other) {
      const TableRow& row = (*scope_.sequences)[other].*scope_.row;
      if (other == place.sequence || row.blocks <= place.block) continue;
      if (scope_.tables->at({other, place.group, place.block}) == block) visit(other);
    }
  }

 private:
  SlotRange range(const TablePlace& place, std::int64_t length) const {
    return scope_.geometry->visible_in(place.group, length, place.block);
  }
  SlotRange range(const TablePlace& place) const {
    return range(place, row(place.sequence).length);
  }
  const TableRow& row(std::int32_t sequence) const {
    return (*scope_.sequences)[sequence].*scope_.row;
  }
  // How many of these slots of a block none of its other holders uses.
  std::int64_t uncovered(const TablePlace& place, BlockId block, SlotRange slots) const;
  void change_group(const TablePlace& first, std::int64_t length);
  void change_block(const TablePlace& place, std::int64_t length);

  Scope scope_;
  std::vector<std::int64_t> used_;        // by group, without what runs took
  std::vector<std::int64_t> run_tokens_;  // by level
};

}  // namespace recto::cache
