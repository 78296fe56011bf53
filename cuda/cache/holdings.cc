#include "cuda/cache/holdings.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/contract.h"

namespace recto::cache {

Holdings::Holdings(const CacheGeometry& geometry, SequenceTable& sequences, TableRow Sequence::*row)
    : geometry_(geometry),
      sequences_(sequences),
      row_(row),
      groups_(static_cast<std::size_t>(geometry.num_groups())),
      run_tokens_(static_cast<std::size_t>(geometry.num_levels())) {}

Status Holdings::allocate(BlockCount num_blocks, BlockCount null_blocks,
                          std::int64_t num_contents) {
  RECTO_RETURN_IF_ERROR(keep(pool_, BlockPool::create(num_blocks, null_blocks, num_contents)));
  const std::int64_t rows = std::int64_t{sequences_.size()} * geometry_.num_groups();
  const std::int64_t columns = geometry_.max_blocks();
  const bool is_countable = rows <= std::numeric_limits<std::int64_t>::max() / columns;
  RECTO_RETURN_IF_ERROR(
      entries_.allocate(is_countable ? rows * columns : -1, "entries of block tables"));
  return first_.allocate(rows, "rows of block tables", 0);
}

BlockPool::Allocation Holdings::take(const TablePlace& place) {
  const BlockPool::Allocation given = pool_.allocate();
  if (given.evicted != kNoContent) --group_of(given.evicted).cached;
  ++group_of(place.group).held;
  entries_[entry(place)] = given.block;
  count_joined(place, given.block, BlockState::kFree);
  return given;
}

void Holdings::adopt(const TablePlace& place, BlockId block) {
  const BlockState before = pool_.state(block);
  if (before != BlockState::kHeld) {
    Group& group = group_of(place.group);
    ++group.held;
    --group.cached;
    if (before == BlockState::kPinned) --group.pinned;
  } else if (pool_.is_uneven(block)) {
    // A holder whose window's edge is inside the block now has a second holder there.
    visit_other_holders(place, block, [this](std::int32_t other) { stop_run(other); });
  }
  pool_.hold(block);
  entries_[entry(place)] = block;
  count_joined(place, block, before);
}

void Holdings::join(const TablePlace& place, BlockId block) {
  pool_.hold(block);
  entries_[entry(place)] = block;
}

void Holdings::share(std::int32_t parent, std::int32_t child, std::int32_t blocks) {
  for (std::int32_t group = 0; group < geometry_.num_groups(); ++group) {
    const std::int32_t begin = std::min(first(parent, group), blocks);
    first_entry(child, group) = begin;
    const std::span<const BlockId> shared = table(parent, group, blocks);
    std::copy(shared.begin(), shared.end(), &entries_[entry({child, group, 0})]);
    pool_.hold_again(shared.subspan(static_cast<std::size_t>(begin)));
  }
  row(child).blocks = blocks;
  row(child).length = row(parent).length;
}

void Holdings::begin_row(std::int32_t sequence, std::int32_t group, std::int64_t begin) {
  first_entry(sequence, group) = static_cast<std::int32_t>(begin);
  for (std::int64_t block = 0; block < begin; ++block) {
    entries_[entry({sequence, group, block})] = kNoBlock;
  }
}

void Holdings::drop(const TablePlace& place) {
  const BlockId block = std::exchange(entries_[entry(place)], kNoBlock);
  Group& group = group_of(place.group);
  if (pool_.holders(block) == 1) {
    group.used -= range(place).size();
  } else if (pool_.is_uneven(block)) {
    group.used -= uncovered(place, block, range(place));
  }
  const BlockState now = pool_.release(block);
  if (now == BlockState::kHeld) return;
  --group.held;
  if (now == BlockState::kFree) return;
  ++group.cached;
  if (now == BlockState::kPinned) ++group.pinned;
}

void Holdings::drop_behind(std::int32_t sequence, std::int64_t blocks) {
  TableRow& mine = row(sequence);
  if (mine.blocks <= blocks) return;
  const std::int32_t num_groups = geometry_.num_groups();
  for (std::int64_t block = mine.blocks - 1; block >= blocks; --block) {
    for (std::int32_t group = 0; group < num_groups; ++group) {
      if (block >= first(sequence, group)) drop({sequence, group, block});
    }
  }
  mine.blocks = static_cast<std::int32_t>(blocks);
  for (std::int32_t group = 0; group < num_groups; ++group) {
    std::int32_t& first = first_entry(sequence, group);
    first = std::min(first, mine.blocks);
  }
}

void Holdings::drop_before(std::int32_t sequence, std::int32_t group, std::int64_t block) {
  const auto begin = static_cast<std::int64_t>(first(sequence, group));
  for (std::int64_t dropped = block - 1; dropped >= begin; --dropped) {
    drop({sequence, group, dropped});
  }
  first_entry(sequence, group) = static_cast<std::int32_t>(std::max(begin, block));
}

void Holdings::set_length(std::int32_t sequence, std::int64_t length) {
  for (std::int32_t group = 0; group < geometry_.num_groups(); ++group) {
    change_group(sequence, group, length);
  }
  row(sequence).length = length;
}

void Holdings::grow(std::int32_t sequence, std::int64_t length) {
  const std::int64_t more = length - row(sequence).length;
  for (Group& group : groups_) group.used += more;
  for (const std::int32_t group : geometry_.window_groups()) {
    group_of(group).used -= more;
    change_group(sequence, group, length);
  }
  row(sequence).length = length;
  refresh_run(sequence);
}

void Holdings::refresh_run(std::int32_t sequence) {
  Sequence& mine = sequences_[sequence];
  const TableRow& held = row(sequence);
  const std::int64_t length = held.length;
  mine.run_end = length;
  mine.level = static_cast<std::int16_t>(geometry_.level(length));
  std::int64_t end = held.blocks * geometry_.block_size();
  if (mine.level + 1 < geometry_.num_levels()) {
    end = std::min(end, geometry_.level_begin(mine.level + 1));
  }
  if (!geometry_.is_aligned(length)) {
    const std::int64_t tail = geometry_.full_blocks(length);
    for (std::int32_t group = 0; group < geometry_.num_groups(); ++group) {
      if (!is_writable({sequence, group, tail})) return;
    }
  }
  for (const std::int32_t group : geometry_.window_groups()) {
    const std::int64_t edge = geometry_.first_needed(group, length);
    if (first(sequence, group) < edge) return;  // some blocks must be given back
    if (geometry_.visible(group, length + 1).begin == 0) continue;
    end = std::min(end,
                   length + geometry_.slots_of(edge).end - geometry_.visible(group, length).begin);
    if (edge >= held.blocks) continue;
    const BlockId at_edge = block({sequence, group, edge});
    if (pool_.holders(at_edge) > 1) return;
    if (pool_.content(at_edge) != kNoContent) pool_.mark_uneven(at_edge);
  }
  mine.run_end = end;
}

// A run continues without looking at the block that contains the edge of its window.
void Holdings::publish(const TablePlace& place, ContentId content) {
  pool_.set_content(block(place), content);
  const std::int64_t next = row(place.sequence).length + 1;
  const bool is_edge_inside =
      geometry_.visible(place.group, next).begin > place.block * geometry_.block_size();
  if (is_edge_inside) pool_.mark_uneven(block(place));
}

void Holdings::forget(BlockId block) {
  const BlockState before = pool_.state(block);
  Group& group = group_of(pool_.content(block));
  if (before != BlockState::kHeld) --group.cached;
  if (before == BlockState::kPinned) --group.pinned;
  pool_.forget_content(block);
}

void Holdings::pin(BlockId block) {
  if (pool_.state(block) == BlockState::kEvictable) ++group_of(pool_.content(block)).pinned;
  pool_.pin(block);
}

void Holdings::unpin(BlockId block) {
  if (pool_.state(block) == BlockState::kPinned) --group_of(pool_.content(block)).pinned;
  pool_.unpin(block);
}

PoolStates Holdings::states() const {
  const std::int64_t slots = geometry_.block_size();
  PoolStates states;
  for (std::int32_t group = 0; group < geometry_.num_groups(); ++group) {
    states.used += TokenCount(used(group));
  }
  states.held_empty = TokenCount(pool_.held().value() * slots) - states.used;
  states.pinned = TokenCount(pool_.pinned().value() * slots);
  states.cached = TokenCount(pool_.evictable().value() * slots) + states.pinned;
  states.free = TokenCount(pool_.free().value() * slots);
  states.overhead = TokenCount(pool_.null_blocks().value() * slots);
  return states;
}

GroupStates Holdings::group_states(std::int32_t group) const {
  const std::int64_t slots = geometry_.block_size();
  const Group& blocks = groups_[static_cast<std::size_t>(group)];
  GroupStates states;
  states.used = TokenCount(used(group));
  states.held_empty = TokenCount(blocks.held * slots) - states.used;
  states.cached = TokenCount(blocks.cached * slots);
  states.pinned = TokenCount(blocks.pinned * slots);
  return states;
}

std::int64_t Holdings::used(std::int32_t group) const {
  std::int64_t used = groups_[static_cast<std::size_t>(group)].used;
  for (std::int32_t level = 0; level <= geometry_.last_growing_level(group); ++level) {
    used += run_tokens_[static_cast<std::size_t>(level)];
  }
  return used;
}

void Holdings::count_joined(const TablePlace& place, BlockId block, BlockState before) {
  const SlotRange mine = range(place);
  if (before != BlockState::kHeld) {
    group_of(place.group).used += mine.size();
  } else if (pool_.is_uneven(block)) {
    group_of(place.group).used += uncovered(place, block, mine);
  }
  const bool is_shared = before == BlockState::kHeld || pool_.content(block) != kNoContent;
  if (is_shared && mine != geometry_.slots_of(place.block)) pool_.mark_uneven(block);
}

// Updates the blocks that either end of the visible range moves through.
void Holdings::change_group(std::int32_t sequence, std::int32_t group, std::int64_t length) {
  const TableRow& mine = row(sequence);
  const SlotRange before = geometry_.visible(group, mine.length);
  const SlotRange after = geometry_.visible(group, length);
  const auto moved_through = [this](std::int64_t a, std::int64_t b) {
    return SlotRange{.begin = geometry_.full_blocks(std::min(a, b)),
                     .end = geometry_.blocks_for(std::max(a, b))};
  };
  const SlotRange low = moved_through(before.begin, after.begin);
  const SlotRange high = moved_through(before.end, after.end);
  const std::int64_t begin = first(sequence, group);
  const std::int64_t end = mine.blocks;
  TablePlace place{.sequence = sequence, .group = group, .block = std::max(begin, low.begin)};
  for (; place.block < std::min(end, low.end); ++place.block) change_block(place, length);
  place.block = std::max({begin, low.end, high.begin});
  for (; place.block < std::min(end, high.end); ++place.block) change_block(place, length);
}

void Holdings::change_block(const TablePlace& place, std::int64_t length) {
  const SlotRange before = range(place);
  const SlotRange after = range(place, length);
  if (before == after || (before.size() == 0 && after.size() == 0)) return;
  const BlockId changed = block(place);
  std::int64_t& used = group_of(place.group).used;
  if (pool_.holders(changed) == 1) {
    used += after.size() - before.size();
    if (pool_.content(changed) == kNoContent) return;
    if (after != geometry_.slots_of(place.block)) pool_.mark_uneven(changed);
    return;
  }
  if (pool_.is_uneven(changed)) {
    used += uncovered(place, changed, after) - uncovered(place, changed, before);
  } else {  // the others still use the slots that this one used
    used += after.size() - intersection(before, after).size();
  }
  pool_.mark_uneven(changed);
}

std::int64_t Holdings::uncovered(const TablePlace& place, BlockId block, SlotRange slots) const {
  std::int64_t uncovered = 0;
  while (slots.size() > 0) {
    std::int64_t covered_end = slots.begin;
    std::int64_t next_begin = slots.end;
    visit_other_holders(place, block, [&](std::int32_t other) {
      const SlotRange theirs = intersection(range({other, place.group, place.block}), slots);
      if (theirs.size() == 0) return;
      if (theirs.begin == slots.begin) {
        covered_end = std::max(covered_end, theirs.end);
      } else {
        next_begin = std::min(next_begin, theirs.begin);
      }
    });
    if (covered_end == slots.begin) {
      uncovered += next_begin - slots.begin;
      covered_end = next_begin;
    }
    slots.begin = covered_end;
  }
  return uncovered;
}

}  // namespace recto::cache
