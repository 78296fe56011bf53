#pragma once

// A pool, the block tables into it, and the states of its slots, with the steps that all operations
// are made of. Each step keeps references, tables and counters consistent. The caller must know
// whether there is room, and whether the prefix index knows a block.
//
// Used slots are counted in running sums, by layer group. A slot that several tables share counts
// once, and is used if any holder uses it, that is, has a token there that its next row sees. The
// holders of a block almost always use the same slots of it, and all of them if other sequences can
// find the block; then a change of one holder needs no look at the others. Where this may not hold
// (after a truncation into a shared block, or where the edge of a window lies inside a block), the
// block is marked uneven, and changes compare its holders: O(sequences).

#include <cstdint>
#include <span>
#include <vector>

#include "core/status.h"
#include "cuda/cache/block_pool.h"
#include "cuda/cache/cache_geometry.h"
#include "cuda/cache/cache_reports.h"
#include "cuda/cache/fixed_array.h"
#include "cuda/cache/sequence_table.h"

namespace recto::cache {

// One entry of the block tables: a logical block of a sequence in a group.
struct TablePlace {
  std::int32_t sequence = 0;
  std::int32_t group = 0;
  std::int64_t block = 0;
};

class Holdings {
 public:
  // Geometry and sequences must outlive it; `row` selects the sequences' row for this pool.
  Holdings(const CacheGeometry& geometry, SequenceTable& sequences, TableRow Sequence::*row);
  Holdings(const Holdings&) = delete;
  Holdings& operator=(const Holdings&) = delete;
  // Creates the pool and its tables, whose memory is touched only as far as sequences need. Fails
  // as BlockPool::create does.
  Status allocate(BlockCount num_blocks, BlockCount null_blocks, std::int64_t num_contents);

  // ---- Table entries. A place that gets a block must have none. The caller maintains
  // row(s).blocks.

  // Takes a new block.
  BlockPool::Allocation take(const TablePlace& place);
  // Takes a block whose content was found in the prefix cache.
  void adopt(const TablePlace& place, BlockId block);
  // Takes a block that another sequence of the same copied set has just taken: none of its tokens
  // count yet.
  void join(const TablePlace& place, BlockId block);
  // Gives a child the parent's first `blocks` logical blocks, and the parent's length.
  void share(std::int32_t parent, std::int32_t child, std::int32_t blocks);
  // Makes a row begin at this logical block, with no block before it.
  void begin_row(std::int32_t sequence, std::int32_t group, std::int64_t first);
  // Gives back the block of a place.
  void drop(const TablePlace& place);
  // Gives back the blocks from `blocks` on, the last one first.
  void drop_behind(std::int32_t sequence, std::int64_t blocks);
  // Gives back the blocks before `block` in one group.
  void drop_before(std::int32_t sequence, std::int32_t group, std::int64_t block);

  // ---- Lengths.

  // Changes the sequence's length, and counts the held blocks in which the two lengths differ.
  // O(those blocks).
  void set_length(std::int32_t sequence, std::int64_t length);
  // The same for a sequence that grows and holds unshared blocks from its old length on; a new run
  // begins.
  void grow(std::int32_t sequence, std::int64_t length);
  // Counts tokens that sequences inside a run (Sequence::run_end), all of one level, took in total.
  void count_run(std::int32_t level, std::int64_t tokens) {
    run_tokens_[static_cast<std::size_t>(level)] += tokens;
  }
  // The next append to this sequence checks everything again.
  void stop_run(std::int32_t sequence) { sequences_[sequence].run_end = row(sequence).length; }
  // Recomputes up to which length appends need no check (Sequence::run_end). O(groups).
  void refresh_run(std::int32_t sequence);

  // ---- Content, by which a block is found.

  void publish(const TablePlace& place, ContentId content);
  void forget(BlockId block);
  void pin(BlockId block);
  void unpin(BlockId block);

  // ---- Inspection.

  TableRow& row(std::int32_t sequence) { return sequences_[sequence].*row_; }
  const TableRow& row(std::int32_t sequence) const { return sequences_[sequence].*row_; }
  BlockId block(const TablePlace& place) const { return entries_[entry(place)]; }
  // The first `row(s).blocks` entries of a row.
  std::span<const BlockId> table(std::int32_t sequence, std::int32_t group) const {
    const std::int32_t blocks = row(sequence).blocks;
    return blocks == 0 ? std::span<const BlockId>() : table(sequence, group, blocks);
  }
  // The index of the first entry of a row that is not out of the group's window; earlier entries
  // are kNoBlock.
  std::int32_t first(std::int32_t sequence, std::int32_t group) const {
    return first_[std::int64_t{sequence} * geometry_.num_groups() + group];
  }
  // Whether the sequence may write to the block: it is the only holder, and the block cannot be
  // found.
  bool is_writable(const TablePlace& place) const {
    return pool_.is_exclusive(block(place)) && pool_.content(block(place)) == kNoContent;
  }
  const BlockPool& pool() const { return pool_; }
  BlockPool& pool() { return pool_; }

  PoolStates states() const;
  GroupStates group_states(std::int32_t group) const;
  std::int64_t table_bytes() const { return entries_.bytes() + first_.bytes(); }

 private:
  struct Group {
    std::int64_t used = 0;    // used slots, except those that runs took
    std::int64_t held = 0;    // blocks
    std::int64_t cached = 0;  // without a holder, pinned ones included
    std::int64_t pinned = 0;
  };

  Group& group_of(std::int32_t group) { return groups_[static_cast<std::size_t>(group)]; }
  Group& group_of(ContentId content) { return group_of(content.value() % geometry_.num_groups()); }
  std::int64_t entry(const TablePlace& place) const {
    return (std::int64_t{place.sequence} * geometry_.num_groups() + place.group) *
               geometry_.max_blocks() +
           place.block;
  }
  std::span<const BlockId> table(std::int32_t sequence, std::int32_t group,
                                 std::int64_t blocks) const {
    return entries_.all().subspan(static_cast<std::size_t>(entry({sequence, group, 0})),
                                  static_cast<std::size_t>(blocks));
  }
  std::int32_t& first_entry(std::int32_t sequence, std::int32_t group) {
    return first_[std::int64_t{sequence} * geometry_.num_groups() + group];
  }

  // The slots of a place that a sequence of this length uses.
  SlotRange range(const TablePlace& place, std::int64_t length) const {
    return geometry_.visible_in(place.group, length, place.block);
  }
  SlotRange range(const TablePlace& place) const {
    return range(place, row(place.sequence).length);
  }
  // Used slots of a group. O(windows).
  std::int64_t used(std::int32_t group) const;
  // Counts the slots of a sequence in a block that it gets; the block was in state `before`.
  void count_joined(const TablePlace& place, BlockId block, BlockState before);
  void change_group(std::int32_t sequence, std::int32_t group, std::int64_t length);
  void change_block(const TablePlace& place, std::int64_t length);
  // How many of these slots of a block no other holder uses.
  std::int64_t uncovered(const TablePlace& place, BlockId block, SlotRange slots) const;
  // Calls visit(sequence index) for the other holders of a block. O(sequences).
  template <typename Visit>
  void visit_other_holders(const TablePlace& place, BlockId held, const Visit& visit) const {
    for (std::int32_t other = 0; other < sequences_.used_end(); ++other) {
      if (other == place.sequence || row(other).blocks <= place.block) continue;
      if (block({other, place.group, place.block}) == held) visit(other);
    }
  }

  const CacheGeometry& geometry_;
  SequenceTable& sequences_;
  TableRow Sequence::*row_;
  BlockPool pool_;
  FixedArray<BlockId> entries_;     // [max_sequences, num_groups, max_blocks]
  FixedArray<std::int32_t> first_;  // [max_sequences, num_groups]
  std::vector<Group> groups_;
  std::vector<std::int64_t> run_tokens_;  // by level
};

}  // namespace recto::cache
