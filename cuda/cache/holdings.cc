#include "cuda/cache/holdings.h"

#include <algorithm>
#include <utility>

#include "core/contract.h"

namespace recto::cache {

Holdings::Holdings(Parts parts)
    : geometry_(parts.geometry),
      sequences_(parts.sequences),
      row_(parts.row),
      pool_(std::move(parts.pool)),
      tables_(std::move(parts.tables)),
      used_({.geometry = geometry_,
             .sequences = sequences_,
             .tables = &tables_,
             .pool = &pool_,
             .row = row_}),
      groups_(static_cast<std::size_t>(geometry_->num_groups())) {}

BlockPool::Allocation Holdings::take(const TablePlace& place) {
  const BlockPool::Allocation given = pool_.allocate();
  if (given.evicted != kNoContent) --blocks_of(given.evicted).cached;
  ++blocks_of(place.group).held;
  tables_.at(place) = given.block;
  used_.join(place, given.block, BlockState::kFree);
  return given;
}

void Holdings::adopt(const TablePlace& place, BlockId block) {
  const BlockState before = pool_.state(block);
  if (before != BlockState::kHeld) {
    GroupBlocks& group = blocks_of(place.group);
    ++group.held;
    --group.cached;
    if (before == BlockState::kPinned) --group.pinned;
  } else if (pool_.is_uneven(block)) {
    // A holder whose window's edge is inside the block is no longer alone there.
    used_.visit_other_holders(place, block, [this](std::int32_t other) {
      (*sequences_)[other].run_end = ((*sequences_)[other].*row_).length;
    });
  }
  pool_.hold(block);
  tables_.at(place) = block;
  used_.join(place, block, before);
}

void Holdings::join(const TablePlace& place, BlockId block) {
  pool_.hold(block);
  tables_.at(place) = block;
}

void Holdings::share(std::int32_t parent, std::int32_t child, std::int32_t blocks) {
  for (std::int32_t group = 0; group < geometry_->num_groups(); ++group) {
    const std::int32_t first = std::min(tables_.first(parent, group), blocks);
    tables_.first(child, group) = first;
    const std::span<const BlockId> shared = tables_.row(parent, group, blocks);
    std::copy(shared.begin(), shared.end(), &tables_.at({child, group, 0}));
    pool_.hold_again(shared.subspan(static_cast<std::size_t>(first)));
  }
  row(child).blocks = blocks;
  row(child).length = row(parent).length;
}

void Holdings::drop(const TablePlace& place) {
  BlockId& entry = tables_.at(place);
  const BlockId block = std::exchange(entry, kNoBlock);
  used_.leave(place, block);
  const BlockState now = pool_.release(block);
  if (now == BlockState::kHeld) return;
  GroupBlocks& group = blocks_of(place.group);
  --group.held;
  if (now == BlockState::kFree) return;
  ++group.cached;
  if (now == BlockState::kPinned) ++group.pinned;
}

void Holdings::drop_behind(std::int32_t sequence, std::int64_t blocks) {
  TableRow& mine = row(sequence);
  if (mine.blocks <= blocks) return;
  const std::int32_t num_groups = geometry_->num_groups();
  for (std::int64_t block = mine.blocks - 1; block >= blocks; --block) {
    for (std::int32_t group = 0; group < num_groups; ++group) {
      if (block >= tables_.first(sequence, group)) drop({sequence, group, block});
    }
  }
  mine.blocks = static_cast<std::int32_t>(blocks);
  for (std::int32_t group = 0; group < num_groups; ++group) {
    std::int32_t& first = tables_.first(sequence, group);
    first = std::min(first, mine.blocks);
  }
}

void Holdings::drop_before(std::int32_t sequence, std::int32_t group, std::int64_t block) {
  std::int32_t& first = tables_.first(sequence, group);
  const auto begin = static_cast<std::int64_t>(first);
  for (std::int64_t dropped = block - 1; dropped >= begin; --dropped) {
    drop({sequence, group, dropped});
  }
  first = static_cast<std::int32_t>(std::max(begin, block));
}

void Holdings::set_length(std::int32_t sequence, std::int64_t length) {
  used_.change_length(sequence, length);
  row(sequence).length = length;
}

void Holdings::grow(std::int32_t sequence, std::int64_t length) {
  used_.grow(sequence, length);
  row(sequence).length = length;
}

void Holdings::publish(const TablePlace& place, ContentId content) {
  pool_.set_content(block(place), content);
  used_.publish(place, block(place));
}

void Holdings::forget(BlockId block) {
  const BlockState before = pool_.state(block);
  GroupBlocks& group = blocks_of(pool_.content(block));
  if (before != BlockState::kHeld) --group.cached;
  if (before == BlockState::kPinned) --group.pinned;
  pool_.forget_content(block);
}

void Holdings::pin(BlockId block) {
  if (pool_.state(block) == BlockState::kEvictable) ++blocks_of(pool_.content(block)).pinned;
  pool_.pin(block);
}

void Holdings::unpin(BlockId block) {
  if (pool_.state(block) == BlockState::kPinned) --blocks_of(pool_.content(block)).pinned;
  pool_.unpin(block);
}

PoolStates Holdings::states() const {
  const std::int64_t slots = geometry_->block_size();
  PoolStates states;
  for (std::int32_t group = 0; group < geometry_->num_groups(); ++group) {
    states.used += TokenCount(used_.count(group));
  }
  states.held_empty = TokenCount(pool_.held().value() * slots) - states.used;
  states.pinned = TokenCount(pool_.pinned().value() * slots);
  states.cached = TokenCount(pool_.evictable().value() * slots) + states.pinned;
  states.free = TokenCount(pool_.free().value() * slots);
  states.overhead = TokenCount(pool_.null_blocks().value() * slots);
  return states;
}

GroupStates Holdings::group_states(std::int32_t group) const {
  const std::int64_t slots = geometry_->block_size();
  const GroupBlocks& blocks = groups_[static_cast<std::size_t>(group)];
  GroupStates states;
  states.used = TokenCount(used_.count(group));
  states.held_empty = TokenCount(blocks.held * slots) - states.used;
  states.cached = TokenCount(blocks.cached * slots);
  states.pinned = TokenCount(blocks.pinned * slots);
  return states;
}

}  // namespace recto::cache
