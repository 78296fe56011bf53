#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cuda/cache/invariant_parts.h"

namespace recto::cache {
namespace {

// What the tables say about one block.
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
        holders_(static_cast<std::size_t>(pool_.size().value())) {}

  Status run() {
    for (std::int32_t index = 0; index < core_.sequences.size(); ++index) {
      for (std::int32_t group = 0; group < core_.geometry.num_groups(); ++group) {
        if (holdings_.row(index).blocks > 0) RECTO_RETURN_IF_ERROR(read_table(index, group));
      }
    }
    for (std::int64_t id = 0; id < pool_.size().value(); ++id)
      RECTO_RETURN_IF_ERROR(read_block(id));
    RECTO_RETURN_IF_ERROR(check_free_list());
    RECTO_RETURN_IF_ERROR(check_evictable_list());
    return check_states();
  }

 private:
  Status read_table(std::int32_t sequence, std::int32_t group) {
    const std::string name =
        "table of sequence " + std::to_string(sequence) + ", group " + std::to_string(group);
    const TableRow& row = holdings_.row(sequence);
    const std::int64_t first = holdings_.tables().first(sequence, group);
    if (first > row.blocks) return Status::failed(name + " begins behind its end");
    for (std::int64_t index = 0; index < row.blocks; ++index) {
      const BlockId block = holdings_.block({sequence, group, index});
      const std::string entry = name + ", entry " + std::to_string(index);
      if (index < first) {
        RECTO_RETURN_IF_ERROR(expect_same(entry, block, kNoBlock));
        continue;
      }
      if (block.value() < pool_.null_blocks().value() || block.value() >= pool_.size().value()) {
        return Status::failed(entry + " is block " + internal::describe(block));
      }
      RECTO_RETURN_IF_ERROR(add_holder(block, {{sequence}, group, index}).in(entry));
    }
    return Status::ok();
  }

  Status add_holder(BlockId block, const Holders& place) {
    Holders& known = holders_[static_cast<std::size_t>(block.value())];
    if (known.sequences.empty()) {
      known = place;
      return Status::ok();
    }
    known.sequences.push_back(place.sequences.front());
    RECTO_RETURN_IF_ERROR(expect_same("group of a shared block", place.group, known.group));
    return expect_same("index of a shared block", place.index, known.index);
  }

  Status read_block(std::int64_t id) {
    const BlockId block(static_cast<std::int32_t>(id));
    const Holders& known = holders_[static_cast<std::size_t>(id)];
    const std::string name = "block " + std::to_string(id);
    RECTO_RETURN_IF_ERROR(
        expect_same("references of " + name, pool_.holders(block), std::ssize(known.sequences)));
    const BlockState state = pool_.state(block);
    const bool is_held = state == BlockState::kHeld;
    RECTO_RETURN_IF_ERROR(
        expect_same("whether " + name + " is held", is_held, !known.sequences.empty()));
    ++counts_[static_cast<std::size_t>(state)];
    if (is_held) return read_slots(block, known);
    if (pool_.is_uneven(block)) return Status::failed(name + " has no holders, but is uneven");
    if (state != BlockState::kEvictable && state != BlockState::kPinned) return Status::ok();
    GroupStates& group = group_states(core_.index.group_of(pool_.content(block)));
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
    GroupStates& group = group_states(known.group);
    group.used += TokenCount(used);
    group.held_empty += TokenCount(slots.size() - used);
    if (pool_.is_uneven(block)) return Status::ok();
    // All holders use the same slots, and all slots of the block if others could find it.
    for (const std::int32_t sequence : known.sequences) {
      const SlotRange range =
          core_.geometry.visible_in(known.group, holdings_.row(sequence).length, known.index);
      RECTO_RETURN_IF_ERROR(expect_same(
          "slots that a holder of the even block " + internal::describe(block) + " uses",
          range.size(), used));
    }
    if (pool_.content(block) == kNoContent) return Status::ok();
    return expect_same("used slots of the even, findable block " + internal::describe(block), used,
                       slots.size());
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
        return Status::failed("block " + internal::describe(block) + " is in the free list");
      }
    }
    RECTO_RETURN_IF_ERROR(expect_same("length of the free list", length, pool_.free().value()));
    return expect_same("free blocks", pool_.free().value(), count(BlockState::kFree));
  }

  Status check_evictable_list() const {
    std::int64_t length = 0;
    BlockId previous = kNoBlock;
    for (BlockId block = pool_.oldest_evictable(); block != kNoBlock; block = pool_.next(block)) {
      if (++length > pool_.evictable().value()) break;
      if (pool_.state(block) != BlockState::kEvictable) {
        return Status::failed("block " + internal::describe(block) + " is in the evictable list");
      }
      RECTO_RETURN_IF_ERROR(
          expect_same("what comes before an evictable block", pool_.previous(block), previous));
      previous = block;
    }
    RECTO_RETURN_IF_ERROR(
        expect_same("length of the evictable list", length, pool_.evictable().value()));
    return expect_same("evictable blocks", pool_.evictable().value(),
                       count(BlockState::kEvictable));
  }

  Status check_states() {
    RECTO_RETURN_IF_ERROR(
        expect_same("pinned blocks", pool_.pinned().value(), count(BlockState::kPinned)));
    RECTO_RETURN_IF_ERROR(
        expect_same("held blocks", pool_.held().value(), count(BlockState::kHeld)));
    PoolStates counted;
    for (std::int32_t group = 0; group < core_.geometry.num_groups(); ++group) {
      const GroupStates& walked = group_states(group);
      const GroupStates kept = holdings_.group_states(group);
      const std::string name = "group " + std::to_string(group) + ": ";
      RECTO_RETURN_IF_ERROR(expect_same(name + "used slots", kept.used, walked.used));
      RECTO_RETURN_IF_ERROR(
          expect_same(name + "held, empty slots", kept.held_empty, walked.held_empty));
      RECTO_RETURN_IF_ERROR(expect_same(name + "cached slots", kept.cached, walked.cached));
      RECTO_RETURN_IF_ERROR(expect_same(name + "pinned slots", kept.pinned, walked.pinned));
      counted.used += walked.used;
      counted.held_empty += walked.held_empty;
      counted.cached += walked.cached;
      counted.pinned += walked.pinned;
    }
    const std::int64_t slots = core_.geometry.block_size();
    counted.free = TokenCount(count(BlockState::kFree) * slots);
    counted.overhead = TokenCount(count(BlockState::kNull) * slots);
    RECTO_RETURN_IF_ERROR(expect_same("states of the pool", holdings_.states() == counted, true));
    return expect_same("sum of the states", counted.sum(),
                       TokenCount(pool_.size().value() * slots));
  }

  GroupStates& group_states(std::int32_t group) {
    groups_.resize(static_cast<std::size_t>(core_.geometry.num_groups()));
    return groups_[static_cast<std::size_t>(group)];
  }
  std::int64_t count(BlockState state) const { return counts_[static_cast<std::size_t>(state)]; }

  const CacheCore& core_;
  const Holdings& holdings_;
  const BlockPool& pool_;
  std::vector<Holders> holders_;  // by block
  std::vector<GroupStates> groups_;
  std::int64_t counts_[5] = {};  // by state
};

}  // namespace

Status check_holdings(const CacheCore& core, const Holdings& holdings, const std::string& name) {
  return HoldingsCheck(core, holdings).run().in(name);
}

}  // namespace recto::cache
