#pragma once

// The state of every slot of a pool, determined by a walk over all held slots.

#include <array>
#include <cstdint>
#include <vector>

#include "sim/allocators/allocator.h"
#include "sim/scheduling/scheduler.h"
#include "sim/testing/pool_spec.h"

namespace recto::sim {

// If two holders of a slot disagree on its state, the one listed first wins.
enum class SlotState : std::uint8_t {
  kUsed,
  kReserved,
  kOutOfWindow,
  kOverReservation,
  kRounding,
  kTail,
  kCached,
  kFree,
  kOverhead,
};

// The inputs that determine the states of a sequence's slots.
struct Holding {
  std::int64_t context = 0;
  std::int64_t final_context = 0;
  std::int64_t window = 0;  // 0: none
};

// The state of the slot at a logical position; `beyond` is the state beyond the final context.
SlotState state_at(const Holding& holding, std::int64_t position, SlotState beyond);

struct SlotMapOptions {
  std::int64_t window = 0;
  PoolSpec pool;
};

// Also checks that reference counts match table entries; that holders overlap only by sharing; that
// shared blocks have the same logical position in all tables and, between groups, lie below both
// contexts; and that regions are disjoint.
class SlotMap {
 public:
  SlotMap(const Allocator& allocator, const Scheduler& scheduler, const SlotMapOptions& options);

  std::int64_t count(SlotState state) const { return counts_[static_cast<std::size_t>(state)]; }

  // Paged only: the number of table entries that name the block.
  std::int64_t references(std::int64_t block) const {
    return references_[static_cast<std::size_t>(block)];
  }
  std::int64_t table_entries() const { return table_entries_; }
  std::int64_t held_blocks() const { return held_blocks_; }  // or regions
  // The number of disjoint runs of `size` slots without holder, each beginning at a multiple of
  // `alignment`.
  std::int64_t places_for(std::int64_t size, std::int64_t alignment) const;
  std::int64_t longest_free_run() const { return longest_free_run_; }

 private:
  struct Place {
    std::int64_t group = -1;  // the group of the first holder; -1: none
    std::int64_t index = 0;   // logical block
    std::int64_t context = 0;
  };

  void walk_blocks(const Scheduler& scheduler);
  void walk_table(const SequenceGroup& group, SequenceId member, const Holding& holding);
  void walk_regions(const Scheduler& scheduler);
  void walk_region(const SequenceGroup& group, SequenceId member, const Holding& holding);
  void claim(std::int64_t slot, SlotState state);
  void sum_up();

  SlotMapOptions options_;
  const Allocator* allocator_;
  std::vector<SlotState> slots_;  // [pool]
  std::vector<std::int64_t> references_;
  std::vector<Place> places_;  // [block] of its first holder
  std::array<std::int64_t, 9> counts_{};
  std::int64_t table_entries_ = 0;
  std::int64_t held_blocks_ = 0;
  std::int64_t longest_free_run_ = 0;
};

}  // namespace recto::sim
