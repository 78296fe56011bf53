#include "cuda/cache/used_slots.h"

#include <algorithm>

namespace recto::cache {

UsedSlots::UsedSlots(const Scope& scope)
    : scope_(scope),
      used_(static_cast<std::size_t>(scope.geometry->num_groups())),
      run_tokens_(static_cast<std::size_t>(scope.geometry->num_levels())) {}

std::int64_t UsedSlots::count(std::int32_t group) const {
  std::int64_t used = used_[static_cast<std::size_t>(group)];
  for (std::int32_t level = 0; level <= scope_.geometry->last_growing_level(group); ++level) {
    used += run_tokens_[static_cast<std::size_t>(level)];
  }
  return used;
}

void UsedSlots::join(const TablePlace& place, BlockId block, BlockState before) {
  const SlotRange mine = range(place);
  std::int64_t& used = used_[static_cast<std::size_t>(place.group)];
  if (before != BlockState::kHeld) {
    used += mine.size();
  } else if (scope_.pool->is_uneven(block)) {
    used += uncovered(place, block, mine);
  }
  const bool is_shared = before == BlockState::kHeld || scope_.pool->content(block) != kNoContent;
  if (is_shared && mine != scope_.geometry->slots_of(place.block)) scope_.pool->mark_uneven(block);
}

void UsedSlots::leave(const TablePlace& place, BlockId block) {
  std::int64_t& used = used_[static_cast<std::size_t>(place.group)];
  if (scope_.pool->holders(block) == 1) {
    used -= range(place).size();
  } else if (scope_.pool->is_uneven(block)) {
    used -= uncovered(place, block, range(place));
  }
}

// A run continues without looking at the block that contains its window's edge.
void UsedSlots::publish(const TablePlace& place, BlockId block) {
  const std::int64_t next = row(place.sequence).length + 1;
  const bool is_edge_inside = scope_.geometry->visible(place.group, next).begin >
                              place.block * scope_.geometry->block_size();
  if (is_edge_inside) scope_.pool->mark_uneven(block);
}

void UsedSlots::change_length(std::int32_t sequence, std::int64_t length) {
  for (std::int32_t group = 0; group < scope_.geometry->num_groups(); ++group) {
    change_group({.sequence = sequence, .group = group, .block = 0}, length);
  }
}

void UsedSlots::grow(std::int32_t sequence, std::int64_t length) {
  const std::int64_t more = length - row(sequence).length;
  for (std::int64_t& used : used_) used += more;
  for (const std::int32_t group : scope_.geometry->window_groups()) {
    used_[static_cast<std::size_t>(group)] -= more;
    change_group({.sequence = sequence, .group = group, .block = 0}, length);
  }
}

// Updates the blocks through which either end of the visible range moves.
void UsedSlots::change_group(const TablePlace& first, std::int64_t length) {
  const CacheGeometry& geometry = *scope_.geometry;
  const TableRow& mine = row(first.sequence);
  const SlotRange before = geometry.visible(first.group, mine.length);
  const SlotRange after = geometry.visible(first.group, length);
  const auto moved_through = [&](std::int64_t a, std::int64_t b) {
    return SlotRange{.begin = geometry.full_blocks(std::min(a, b)),
                     .end = geometry.blocks_for(std::max(a, b))};
  };
  const SlotRange low = moved_through(before.begin, after.begin);
  const SlotRange high = moved_through(before.end, after.end);
  const std::int64_t begin = scope_.tables->first(first.sequence, first.group);
  const std::int64_t end = mine.blocks;
  TablePlace place = first;
  for (place.block = std::max(begin, low.begin); place.block < std::min(end, low.end);
       ++place.block) {
    change_block(place, length);
  }
  for (place.block = std::max({begin, low.end, high.begin}); place.block < std::min(end, high.end);
       ++place.block) {
    change_block(place, length);
  }
}

void UsedSlots::change_block(const TablePlace& place, std::int64_t length) {
  const SlotRange before = range(place);
  const SlotRange after = range(place, length);
  if (before == after || (before.size() == 0 && after.size() == 0)) return;
  const BlockId block = scope_.tables->at(place);
  std::int64_t& used = used_[static_cast<std::size_t>(place.group)];
  if (scope_.pool->holders(block) == 1) {
    used += after.size() - before.size();
    if (scope_.pool->content(block) == kNoContent) return;
    if (after != scope_.geometry->slots_of(place.block)) scope_.pool->mark_uneven(block);
    return;
  }
  if (scope_.pool->is_uneven(block)) {
    used += uncovered(place, block, after) - uncovered(place, block, before);
  } else {  // the others still use what this one did
    used += after.size() - intersection(before, after).size();
  }
  scope_.pool->mark_uneven(block);
}

std::int64_t UsedSlots::uncovered(const TablePlace& place, BlockId block, SlotRange slots) const {
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
