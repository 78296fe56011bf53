#pragma once

// A pool, the block tables into it, and the states of its slots, with the steps that all operations
// are made of. Each step keeps references, tables and counters in agreement. The caller has to know
// whether there is room, and what the prefix index says of a block.

#include <cstdint>
#include <span>
#include <vector>

#include "cuda/cache/block_pool.h"
#include "cuda/cache/block_tables.h"
#include "cuda/cache/cache_geometry.h"
#include "cuda/cache/cache_states.h"
#include "cuda/cache/sequence_table.h"
#include "cuda/cache/used_slots.h"

namespace recto::cache {

class Holdings {
 public:
  struct Parts {
    const CacheGeometry* geometry = nullptr;  // outlives it, as do the sequences
    SequenceTable* sequences = nullptr;
    TableRow Sequence::*row = nullptr;  // what sequences have in this pool
    BlockPool pool = {};
    BlockTables tables = {};
  };

  explicit Holdings(Parts parts);
  Holdings(const Holdings&) = delete;  // its parts look at each other
  Holdings& operator=(const Holdings&) = delete;

  // ---- Table entries. A place that gets a block must have none; the caller maintains
  // row(s).blocks.

  // Takes a new block.
  BlockPool::Allocation take(const TablePlace& place);
  // Takes a block whose content was found.
  void adopt(const TablePlace& place, BlockId block);
  // Takes a block that another sequence, of a set that is being copied here, just got: none of its
  // tokens count yet.
  void join(const TablePlace& place, BlockId block);
  // Gives a child what the parent has in its first `blocks` logical blocks, and the parent's
  // length.
  void share(std::int32_t parent, std::int32_t child, std::int32_t blocks);
  // Gives back the block of a place.
  void drop(const TablePlace& place);
  // Gives back the blocks from `blocks` on, the last one first.
  void drop_behind(std::int32_t sequence, std::int64_t blocks);
  // Gives back the blocks before `block` in one group.
  void drop_before(std::int32_t sequence, std::int32_t group, std::int64_t block);

  // ---- Lengths, as in UsedSlots.

  void set_length(std::int32_t sequence, std::int64_t length);
  void grow(std::int32_t sequence, std::int64_t length);
  void count_run(std::int32_t level, std::int64_t tokens) { used_.count_run(level, tokens); }

  // ---- Content, by which a block is found.

  void publish(const TablePlace& place, ContentId content);
  void forget(BlockId block);
  void pin(BlockId block);
  void unpin(BlockId block);

  // ---- Inspection.

  TableRow& row(std::int32_t sequence) { return (*sequences_)[sequence].*row_; }
  const TableRow& row(std::int32_t sequence) const { return (*sequences_)[sequence].*row_; }
  BlockId block(const TablePlace& place) const { return tables_.at(place); }
  // Whether the sequence may write to the block: it is the only holder, and nobody can find the
  // block.
  bool is_writable(const TablePlace& place) const {
    return pool_.is_exclusive(block(place)) && pool_.content(block(place)) == kNoContent;
  }
  const BlockPool& pool() const { return pool_; }
  BlockPool& pool() { return pool_; }
  const BlockTables& tables() const { return tables_; }
  BlockTables& tables() { return tables_; }

  PoolStates states() const;
  GroupStates group_states(std::int32_t group) const;

 private:
  struct GroupBlocks {
    std::int64_t held = 0;
    std::int64_t cached = 0;  // nobody's, pinned ones included
    std::int64_t pinned = 0;
  };

  GroupBlocks& blocks_of(std::int32_t group) { return groups_[static_cast<std::size_t>(group)]; }
  GroupBlocks& blocks_of(ContentId content) {
    return blocks_of(content.value() % geometry_->num_groups());
  }

  const CacheGeometry* geometry_;
  SequenceTable* sequences_;
  TableRow Sequence::*row_;
  BlockPool pool_;
  BlockTables tables_;
  UsedSlots used_;
  std::vector<GroupBlocks> groups_;
};

}  // namespace recto::cache
