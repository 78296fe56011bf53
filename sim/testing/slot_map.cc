#include "sim/testing/slot_map.h"

#include <algorithm>

#include "core/contract.h"

namespace recto::sim {

SlotMap::SlotMap(const Allocator& allocator, const Scheduler& scheduler,
                 const SlotMapOptions& options)
    : options_(options),
      allocator_(&allocator),
      slots_(static_cast<std::size_t>(allocator.counts().pool.value()), SlotState::kFree) {
  if (allocator.is_paged()) {
    walk_blocks(scheduler);
  } else {
    walk_regions(scheduler);
  }
  sum_up();
}

// The next token, at position `context`, sees the positions above context - window.
SlotState state_at(const Holding& holding, std::int64_t position, SlotState beyond) {
  if (position < holding.context) {
    const bool in_sight = holding.window == 0 || position > holding.context - holding.window;
    return in_sight ? SlotState::kUsed : SlotState::kOutOfWindow;
  }
  return position < holding.final_context ? SlotState::kReserved : beyond;
}

void SlotMap::claim(std::int64_t slot, SlotState state) {
  SlotState& present = slots_.at(static_cast<std::size_t>(slot));
  present = std::min(present, state);
}

void SlotMap::walk_blocks(const Scheduler& scheduler) {
  const std::int64_t block_size = allocator_->block_size().value();
  const auto pool = static_cast<std::int64_t>(slots_.size());
  const std::int64_t blocks = pool / block_size;
  references_.assign(static_cast<std::size_t>(blocks), 0);
  places_.assign(static_cast<std::size_t>(blocks), {});
  for (const SequenceGroup* group : scheduler.holders()) {
    for (std::size_t i = 0; i < group->members.size(); ++i) {
      const std::int64_t final_context =
          group->request.prompt_tokens.value() + group->request.output_tokens.value() - 1;
      walk_table(*group, group->members[i],
                 {scheduler.context(*group, i), final_context, options_.window});
    }
  }
  for (std::int64_t block = 0; block < blocks; ++block) {
    const BlockId id(static_cast<std::int32_t>(block));
    RECTO_CHECK_EQ(allocator_->sharers(id), std::max<std::int64_t>(references(block) - 1, 0));
    if (references(block) > 0) {
      ++held_blocks_;
      RECTO_CHECK_GE(block, options_.pool.null_blocks.value());
      continue;
    }
    const bool is_null = block < options_.pool.null_blocks.value();
    const bool is_cached = allocator_->is_cached(id);
    for (std::int64_t slot = block * block_size; slot < (block + 1) * block_size; ++slot) {
      slots_[static_cast<std::size_t>(slot)] = is_null     ? SlotState::kOverhead
                                               : is_cached ? SlotState::kCached
                                                           : SlotState::kFree;
    }
  }
  std::fill(slots_.begin() + blocks * block_size, slots_.end(), SlotState::kOverhead);
}

void SlotMap::walk_table(const SequenceGroup& group, SequenceId member, const Holding& holding) {
  const std::int64_t block_size = allocator_->block_size().value();
  const std::span<const BlockId> table = allocator_->block_table(member);
  RECTO_CHECK_GE(static_cast<std::int64_t>(table.size()) * block_size, holding.context);
  for (std::size_t entry = 0; entry < table.size(); ++entry) {
    const std::int64_t block = table[entry].value();
    const auto index = static_cast<std::int64_t>(entry);
    Place& place = places_.at(static_cast<std::size_t>(block));
    if (++references_[static_cast<std::size_t>(block)] == 1) {
      place = {group.request.id, index, holding.context};
    } else {
      RECTO_CHECK_EQ(place.index, index);
      if (place.group != group.request.id) {
        RECTO_CHECK_LE((index + 1) * block_size, place.context);
        RECTO_CHECK_LE((index + 1) * block_size, holding.context);
      }
    }
    ++table_entries_;
    for (std::int64_t offset = 0; offset < block_size; ++offset) {
      claim(block * block_size + offset,
            state_at(holding, index * block_size + offset, SlotState::kTail));
    }
  }
}

void SlotMap::walk_regions(const Scheduler& scheduler) {
  for (const SequenceGroup* group : scheduler.holders()) {
    for (std::size_t i = 0; i < group->members.size(); ++i) {
      const std::int64_t final_context =
          group->request.prompt_tokens.value() + group->request.output_tokens.value() - 1;
      walk_region(*group, group->members[i],
                  {scheduler.context(*group, i), final_context, options_.window});
    }
  }
}

void SlotMap::walk_region(const SequenceGroup& group, SequenceId member, const Holding& holding) {
  const Region region = allocator_->region(member);
  const std::int64_t requested = requested_slots(options_.pool, group.request);
  RECTO_CHECK_GE(region.size, requested);
  RECTO_CHECK_GE(requested, holding.final_context);
  for (std::int64_t position = 0; position < region.size; ++position) {
    const auto slot = static_cast<std::size_t>(region.begin + position);
    RECTO_CHECK(slots_.at(slot) == SlotState::kFree);
    slots_[slot] =
        state_at(holding, position,
                 position < requested ? SlotState::kOverReservation : SlotState::kRounding);
  }
  ++held_blocks_;
}

std::int64_t SlotMap::places_for(std::int64_t size, std::int64_t alignment) const {
  std::int64_t places = 0;
  std::int64_t run = 0;
  std::int64_t begin = 0;
  for (std::int64_t slot = 0; slot < static_cast<std::int64_t>(slots_.size()); ++slot) {
    const SlotState state = slots_[static_cast<std::size_t>(slot)];
    const bool is_reusable = state == SlotState::kFree || state == SlotState::kCached;
    if (run == 0 && slot % alignment != 0) continue;
    if (run == 0) begin = slot;
    run = is_reusable ? slot - begin + 1 : 0;
    if (run < size) continue;
    ++places;
    run = 0;
  }
  return places;
}

void SlotMap::sum_up() {
  std::int64_t run = 0;
  for (const SlotState state : slots_) {
    ++counts_[static_cast<std::size_t>(state)];
    run = state == SlotState::kFree ? run + 1 : 0;
    longest_free_run_ = std::max(longest_free_run_, run);
  }
}

}  // namespace recto::sim
