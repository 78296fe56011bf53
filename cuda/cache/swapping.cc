#include "cuda/cache/swapping.h"

#include <algorithm>
#include <optional>
#include <string>

#include "core/contract.h"
#include "cuda/cache/giving_back.h"

namespace recto::cache {
namespace {

// A set of sequences whose blocks in one pool are to be copied to another.
class SwapSet {
 public:
  SwapSet(const CacheCore& core, std::span<const SequenceHandle> handles)
      : core_(&core), from_(&core.device), handles_(handles) {}
  // For swapping in; with lookahead, no member shares the block in which its context ends.
  SwapSet(const CacheCore& core, std::span<const SequenceHandle> handles, TokenCount lookahead)
      : core_(&core), from_(&core.host), handles_(handles), lookahead_(lookahead.value()) {}

  // Invalid input unless all are in this state and none occurs twice.
  Status check(SequenceState state) const {
    if (handles_.empty()) return Status::invalid_input("no sequences");
    for (std::size_t member = 0; member < handles_.size(); ++member) {
      const Result<std::int32_t> index = core_->sequences.find(handles_[member]);
      if (!index.is_ok()) return index.status();
      const SequenceState is = core_->sequences[index.value()].state;
      if (is != state) {
        return Status::invalid_input("sequence " + internal::describe(handles_[member]) + " is " +
                                     sequence_state_name(is) + "; expected " +
                                     sequence_state_name(state));
      }
      const auto before = handles_.first(member);
      if (std::find(before.begin(), before.end(), handles_[member]) != before.end()) {
        return Status::invalid_input("sequence " + internal::describe(handles_[member]) +
                                     " stands twice");
      }
    }
    return Status::ok();
  }

  // Calls visit(place, first member that has the same block) for each entry that rows from the
  // context on need, member by member.
  template <typename Visit>
  void visit_entries(const Visit& visit) const {
    for (std::size_t member = 0; member < handles_.size(); ++member) {
      const std::int32_t sequence = handles_[member].index;
      const std::int64_t length = from_->row(sequence).length;
      for (std::int32_t group = 0; group < core_->geometry.num_groups(); ++group) {
        for (std::int64_t block = first_entry(sequence, group);
             block < core_->geometry.blocks_for(length); ++block) {
          const TablePlace place{sequence, group, block};
          visit(place, first_sharer(place, member));
        }
      }
    }
  }
  std::int64_t first_entry(std::int32_t sequence, std::int32_t group) const {
    return std::max<std::int64_t>(from_->tables().first(sequence, group),
                                  core_->geometry.first_needed(group, from_->row(sequence).length));
  }
  std::span<const SequenceHandle> handles() const { return handles_; }

 private:
  // Sequences share blocks only at the same logical index.
  std::int32_t first_sharer(const TablePlace& place, std::size_t member) const {
    const BlockId block = from_->block(place);
    if (from_->pool().holders(block) == 1 || is_own_tail(place)) return place.sequence;
    for (const SequenceHandle& handle : handles_.first(member)) {
      const TablePlace other{handle.index, place.group, place.block};
      const bool has_entry = other.block < from_->row(other.sequence).blocks &&
                             other.block >= first_entry(other.sequence, other.group);
      if (has_entry && from_->block(other) == block && !is_own_tail(other)) return other.sequence;
    }
    return place.sequence;
  }
  bool is_own_tail(const TablePlace& place) const {
    const std::int64_t length = from_->row(place.sequence).length;
    return lookahead_ > 0 && !core_->geometry.is_aligned(length) &&
           place.block == core_->geometry.full_blocks(length);
  }

  const CacheCore* core_;
  const Holdings* from_;
  std::span<const SequenceHandle> handles_;
  std::int64_t lookahead_ = 0;
};

Status check_out(const CacheCore& core, std::span<const SequenceHandle> handles) {
  const SwapSet set(core, handles);
  if (core.host.pool().size() == BlockCount(0)) {
    return Status::invalid_input("there is no host pool: host_blocks = 0");
  }
  RECTO_RETURN_IF_ERROR(set.check(SequenceState::kRunning));
  std::int64_t needed = 0;
  set.visit_entries([&](const TablePlace& place, std::int32_t sharer) {
    if (sharer == place.sequence) ++needed;
  });
  const std::int64_t free = core.host.pool().free().value();
  if (needed <= free) return Status::ok();
  return Status::exhausted("needs " + std::to_string(needed) + " blocks of the host pool; " +
                           std::to_string(free) + " of " +
                           std::to_string(core.host.pool().size().value()) + " are free");
}

Status check_lookahead(const CacheCore& core, std::span<const SequenceHandle> handles,
                       TokenCount lookahead) {
  for (const SequenceHandle& handle : handles) {
    const std::int64_t room = core.geometry.max_tokens() - core.sequences[handle.index].host.length;
    if (lookahead.value() >= 0 && lookahead.value() <= room) continue;
    return Status::invalid_input("lookahead " + std::to_string(lookahead.value()) +
                                 "; expected 0 to the " + std::to_string(room) +
                                 " that the table of sequence " + internal::describe(handle) +
                                 " has left");
  }
  return Status::ok();
}

Status check_in(const CacheCore& core, std::span<const SequenceHandle> handles,
                TokenCount lookahead) {
  const SwapSet set(core, handles, lookahead);
  RECTO_RETURN_IF_ERROR(set.check(SequenceState::kSwapped));
  RECTO_RETURN_IF_ERROR(check_lookahead(core, handles, lookahead));
  std::int64_t needed = 0;
  set.visit_entries([&](const TablePlace& place, std::int32_t sharer) {
    if (sharer == place.sequence) ++needed;
  });
  for (const SequenceHandle& handle : handles) {
    const std::int64_t length = core.sequences[handle.index].host.length;
    needed += core.geometry.num_groups() * (core.geometry.blocks_for(length + lookahead.value()) -
                                            core.geometry.blocks_for(length));
  }
  const BlockPool& pool = core.device.pool();
  if (needed + core.options.watermark.value() <= pool.available().value()) return Status::ok();
  return Status::exhausted("needs " + std::to_string(needed) + " blocks; there are " +
                           std::to_string(pool.free().value()) + " free and " +
                           std::to_string(pool.evictable().value()) +
                           " evictable, and a watermark of " +
                           std::to_string(core.options.watermark.value()));
}

TransferHandle open_transfer(CacheCore& core, std::span<const SequenceHandle> handles,
                             SwapDirection direction) {
  for (std::size_t member = 0; member < handles.size(); ++member) {
    const bool is_last = member + 1 == handles.size();
    core.sequences.details(handles[member].index).next_in_transfer =
        is_last ? -1 : handles[member + 1].index;
    core.sequences[handles[member].index].state =
        direction == SwapDirection::kOut ? SequenceState::kSwappingOut : SequenceState::kSwappingIn;
  }
  return core.transfers.open({.direction = direction, .first_sequence = handles.front().index});
}

// Gives back lookahead, what no row can see any more, and the place in the prefix index.
void trim(CacheCore& core, std::int32_t sequence) {
  const Sequence& mine = core.sequences[sequence];
  core.cut_chain(sequence, 0);
  core.log.add(sequence, 0, mine.device.blocks);
  core.device.drop_behind(sequence, core.geometry.blocks_for(mine.device.length));
  for (const std::int32_t group : core.geometry.window_groups()) {
    core.device.drop_before(sequence, group, core.geometry.first_needed(group, mine.device.length));
  }
  core.stop_run(sequence);
}

// Gives the tables of a set in `to` the shape of those in `from`: the same first entry, and nothing
// before it.
void shape_tables(const CacheCore& core, const SwapSet& set, Holdings& to) {
  for (const SequenceHandle& handle : set.handles()) {
    for (std::int32_t group = 0; group < core.geometry.num_groups(); ++group) {
      const std::int64_t first = set.first_entry(handle.index, group);
      to.tables().first(handle.index, group) = static_cast<std::int32_t>(first);
      for (std::int64_t block = 0; block < first; ++block) {
        to.tables().at({handle.index, group, block}) = kNoBlock;
      }
    }
  }
}

}  // namespace

Result<Transfer> swap_out(CacheCore& core, std::span<const SequenceHandle> sequences) {
  RECTO_RETURN_IF_ERROR(check_out(core, sequences));
  for (const SequenceHandle& handle : sequences) trim(core, handle.index);
  const SwapSet set(core, sequences);
  shape_tables(core, set, core.host);
  std::int64_t num_copies = 0;
  set.visit_entries([&](const TablePlace& place, std::int32_t sharer) {
    if (sharer != place.sequence) {
      core.host.join(place, core.host.block({sharer, place.group, place.block}));
      return;
    }
    core.scratch.swaps[num_copies++] = {.group = place.group,
                                        .device = core.device.block(place),
                                        .host = core.host.take(place).block};
  });
  for (const SequenceHandle& handle : sequences) {
    core.host.row(handle.index).blocks = core.device.row(handle.index).blocks;
  }
  return Transfer{.handle = open_transfer(core, sequences, SwapDirection::kOut),
                  .copies = core.scratch.swaps.first(num_copies)};
}

bool can_swap_out(const CacheCore& core, std::span<const SequenceHandle> sequences) {
  return check_out(core, sequences).is_ok();
}

Result<Transfer> swap_in(CacheCore& core, std::span<const SequenceHandle> sequences,
                         TokenCount lookahead) {
  RECTO_RETURN_IF_ERROR(check_in(core, sequences, lookahead));
  const SwapSet set(core, sequences, lookahead);
  shape_tables(core, set, core.device);
  std::int64_t num_copies = 0;
  set.visit_entries([&](const TablePlace& place, std::int32_t sharer) {
    if (sharer != place.sequence) {
      core.device.join(place, core.device.block({sharer, place.group, place.block}));
      return;
    }
    core.scratch.swaps[num_copies++] = {
        .group = place.group, .device = core.take(place), .host = core.host.block(place)};
  });
  for (const SequenceHandle& handle : sequences) {
    Sequence& mine = core.sequences[handle.index];
    mine.device.blocks = mine.host.blocks;
    core.take_until(handle.index, core.geometry.blocks_for(mine.host.length + lookahead.value()));
    core.log.add(handle.index, 0, mine.device.blocks);
  }
  return Transfer{.handle = open_transfer(core, sequences, SwapDirection::kIn),
                  .copies = core.scratch.swaps.first(num_copies)};
}

bool can_swap_in(const CacheCore& core, std::span<const SequenceHandle> sequences,
                 TokenCount lookahead) {
  return check_in(core, sequences, lookahead).is_ok();
}

Status complete(CacheCore& core, TransferHandle transfer) {
  const std::optional<TransferRecord> record = core.transfers.find(transfer);
  if (!record) {
    return Status::invalid_input("transfer " + internal::describe(transfer) + " is not under way");
  }
  const bool is_out = record->direction == SwapDirection::kOut;
  Holdings& to = is_out ? core.host : core.device;
  for (std::int32_t index = record->first_sequence; index >= 0;) {
    Sequence& mine = core.sequences[index];
    to.set_length(index, mine.context());
    if (is_out) {
      give_back_device(core, index);
    } else {
      give_back_host(core, index);
    }
    const std::int32_t next = core.sequences.details(index).next_in_transfer;
    if (mine.life == SequenceLife::kReleased) {
      give_back_device(core, index);
      give_back_host(core, index);
      core.sequences.close(index);
    } else {
      mine.state = is_out ? SequenceState::kSwapped : SequenceState::kRunning;
      core.stop_run(index);
    }
    index = next;
  }
  core.transfers.close(transfer.index);
  return Status::ok();
}

}  // namespace recto::cache
