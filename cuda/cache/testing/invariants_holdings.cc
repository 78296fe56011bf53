#include <cstdint>
#include <string>
#include <vector>

#include "cuda/cache/testing/invariant_parts.h"

namespace recto::cache::testing {
namespace {

// The table entries of one block.
struct Holders {
  std::vector<std::int32_t> sequences;
  std::int32_t group = 0;
  std::int64_t index = 0;  // logical
};

class HoldingsCheck {
 public:
  HoldingsCheck(const CacheCore& core, const Holdings& holdings)
      : core_(core),
        holdings_(holdings),
        pool_(holdings.pool()),
        holders_(static_cast<std::size_t>(pool_.size().value())),
        groups_(static_cast<std::size_t>(core.geometry.num_groups())) {}

  Status run() {
    for (std::int32_t index = 0; index < core_.sequences.size(); ++index) {
      for (std::int32_t group = 0; group < core_.geometry.num_groups(); ++group) {
        RECTO_RETURN_IF_ERROR(read_table(index, group));
      }
    }
    for (std::int32_t id = 0; id < pool_.size().value(); ++id) {
      RECTO_RETURN_IF_ERROR(read_block(BlockId(id)));
    }
    RECTO_RETURN_IF_ERROR(check_free_list());
    RECTO_RETURN_IF_ERROR(check_evictable_list());
    return check_states();
  }

 private:
  Status read_table(std::int32_t sequence, std::int32_t group) {
    const std::span<const BlockId> table = holdings_.table(sequence, group);
    if (table.empty()) return Status::ok();
    const std::string name = message("table of sequence ", sequence, ", group ", group);
    const std::int64_t first = holdings_.first(sequence, group);
    if (first > std::ssize(table)) return broken(name, " begins behind its end");
    for (std::int64_t index = 0; index < std::ssize(table); ++index) {
      const BlockId block = table[static_cast<std::size_t>(index)];
      if (index < first) {
        RECTO_RETURN_IF_ERROR(expect_same(block, kNoBlock, name, ", entry ", index));
        continue;
      }
      const bool is_there =
          block.value() >= pool_.null_blocks().value() && block.value() < pool_.size().value();
      if (!is_there) return broken(name, ", entry ", index, " is block ", block);
      Holders& known = holders_[static_cast<std::size_t>(block.value())];
      if (known.sequences.empty()) known = {.sequences = {}, .group = group, .index = index};
      known.sequences.push_back(sequence);
      RECTO_RETURN_IF_ERROR(expect_same(group, known.group, name, ": group of a shared block"));
      RECTO_RETURN_IF_ERROR(expect_same(index, known.index, name, ": index of a shared block"));
    }
    return Status::ok();
  }

  Status read_block(BlockId block) {
    const Holders& known = holders_[static_cast<std::size_t>(block.value())];
    RECTO_RETURN_IF_ERROR(expect_same(pool_.holders(block), std::ssize(known.sequences),
                                      "references of block ", block));
    const BlockState state = pool_.state(block);
    const bool is_held = state == BlockState::kHeld;
    RECTO_RETURN_IF_ERROR(
        expect_same(is_held, !known.sequences.empty(), "whether block ", block, " is held"));
    ++counts_[static_cast<std::size_t>(state)];
    if (is_held) return read_slots(block, known);
    if (pool_.is_uneven(block)) return broken("block ", block, " has no holders, but is uneven");
    if (state != BlockState::kEvictable && state != BlockState::kPinned) return Status::ok();
    GroupStates& group = states_of(core_.prefix.index().group_of(pool_.content(block)));
    group.cached += core_.options.block_size;
    if (state == BlockState::kPinned) group.pinned += core_.options.block_size;
    return Status::ok();
  }

  Status read_slots(BlockId block, const Holders& known) {
    const SlotRange slots = core_.geometry.slots_of(known.index);
    std::int64_t used = 0;
    for (std::int64_t slot = slots.begin; slot < slots.end; ++slot) {
      if (uses(known, slot)) ++used;
    }
    GroupStates& group = states_of(known.group);
    group.used += TokenCount(used);
    group.held_empty += TokenCount(slots.size() - used);
    if (pool_.is_uneven(block)) return Status::ok();
    // All holders use the same slots, and all slots of the block if it can be found.
    for (const std::int32_t sequence : known.sequences) {
      const SlotRange range =
          core_.geometry.visible_in(known.group, holdings_.row(sequence).length, known.index);
      RECTO_RETURN_IF_ERROR(expect_same(range.size(), used,
                                        "slots that a holder of the even block ", block, " uses"));
    }
    if (pool_.content(block) == kNoContent) return Status::ok();
    return expect_same(used, slots.size(), "used slots of the even, findable block ", block);
  }

  bool uses(const Holders& known, std::int64_t slot) const {
    for (const std::int32_t sequence : known.sequences) {
      const SlotRange seen = core_.geometry.visible(known.group, holdings_.row(sequence).length);
      if (slot >= seen.begin && slot < seen.end) return true;
    }
    return false;
  }

  Status check_free_list() const {
    std::int64_t length = 0;
    for (BlockId block = pool_.first_free(); block != kNoBlock; block = pool_.next(block)) {
      if (++length > pool_.free().value()) break;
      if (pool_.state(block) != BlockState::kFree) {
        return broken("block ", block, " is in the free list");
      }
    }
    RECTO_RETURN_IF_ERROR(expect_same(length, pool_.free().value(), "length of the free list"));
    return expect_same(pool_.free().value(), count(BlockState::kFree), "free blocks");
  }

  Status check_evictable_list() const {
    std::int64_t length = 0;
    BlockId previous = kNoBlock;
    for (BlockId block = pool_.oldest_evictable(); block != kNoBlock; block = pool_.next(block)) {
      if (++length > pool_.evictable().value()) break;
      if (pool_.state(block) != BlockState::kEvictable) {
        return broken("block ", block, " is in the evictable list");
      }
      RECTO_RETURN_IF_ERROR(
          expect_same(pool_.previous(block), previous, "what comes before an evictable block"));
      previous = block;
    }
    RECTO_RETURN_IF_ERROR(
        expect_same(length, pool_.evictable().value(), "length of the evictable list"));
    return expect_same(pool_.evictable().value(), count(BlockState::kEvictable),
                       "evictable blocks");
  }

  Status check_states() const {
    RECTO_RETURN_IF_ERROR(
        expect_same(pool_.pinned().value(), count(BlockState::kPinned), "pinned blocks"));
    RECTO_RETURN_IF_ERROR(
        expect_same(pool_.held().value(), count(BlockState::kHeld), "held blocks"));
    PoolStates counted;
    for (std::int32_t group = 0; group < core_.geometry.num_groups(); ++group) {
      const GroupStates& walked = groups_[static_cast<std::size_t>(group)];
      const GroupStates kept = holdings_.group_states(group);
      const std::string name = message("group ", group, ": ");
      RECTO_RETURN_IF_ERROR(expect_same(kept.used, walked.used, name, "used slots"));
      RECTO_RETURN_IF_ERROR(
          expect_same(kept.held_empty, walked.held_empty, name, "held, empty slots"));
      RECTO_RETURN_IF_ERROR(expect_same(kept.cached, walked.cached, name, "cached slots"));
      RECTO_RETURN_IF_ERROR(expect_same(kept.pinned, walked.pinned, name, "pinned slots"));
      counted.used += walked.used;
      counted.held_empty += walked.held_empty;
      counted.cached += walked.cached;
      counted.pinned += walked.pinned;
    }
    const std::int64_t slots = core_.geometry.block_size();
    counted.free = TokenCount(count(BlockState::kFree) * slots);
    counted.overhead = TokenCount(count(BlockState::kNull) * slots);
    RECTO_RETURN_IF_ERROR(expect_same(holdings_.states() == counted, true, "states of the pool"));
    return expect_same(counted.sum(), TokenCount(pool_.size().value() * slots),
                       "sum of the states");
  }

  GroupStates& states_of(std::int32_t group) { return groups_[static_cast<std::size_t>(group)]; }
  std::int64_t count(BlockState state) const { return counts_[static_cast<std::size_t>(state)]; }

  const CacheCore& core_;
  const Holdings& holdings_;
  const BlockPool& pool_;
  std::vector<Holders> holders_;     // by block
  std::vector<GroupStates> groups_;  // as counted by the walk
  std::int64_t counts_[5] = {};      // blocks, by state
};

}  // namespace

Status check_holdings(const CacheCore& core, const Holdings& holdings, const std::string& name) {
  return HoldingsCheck(core, holdings).run().in(name);
}

}  // namespace recto::cache::testing
