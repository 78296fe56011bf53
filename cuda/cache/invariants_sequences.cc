#include <cstdint>
#include <string>
#include <vector>

#include "cuda/cache/invariant_parts.h"

namespace recto::cache {
namespace {

bool is_on_the_move(const Sequence& sequence) {
  return sequence.state == SequenceState::kSwappingOut ||
         sequence.state == SequenceState::kSwappingIn;
}

class SequencesCheck {
 public:
  explicit SequencesCheck(const CacheCore& core)
      : core_(core), moving_(static_cast<std::size_t>(core.sequences.size())) {}

  Status run() {
    RECTO_RETURN_IF_ERROR(read_transfers());
    std::int32_t unused = 0;
    for (std::int32_t index = 0; index < core_.sequences.size(); ++index) {
      const Sequence& sequence = core_.sequences[index];
      if (sequence.life == SequenceLife::kNone) ++unused;
      RECTO_RETURN_IF_ERROR(read(index).in("sequence " + std::to_string(index)));
    }
    return expect_same("free places of sequences", core_.sequences.num_free(), unused);
  }

 private:
  Status read_transfers() {
    Status status = Status::ok();
    core_.transfers.visit_used([&](std::int32_t, const TransferRecord& transfer) {
      for (std::int32_t index = transfer.first_sequence; index >= 0;) {
        if (++moving_[static_cast<std::size_t>(index)] > 1) {
          status = Status::failed("sequence " + std::to_string(index) + " is moved twice");
          return;
        }
        const bool is_out = core_.sequences[index].state == SequenceState::kSwappingOut;
        if (is_out != (transfer.direction == SwapDirection::kOut)) {
          status = Status::failed("sequence " + std::to_string(index) + " moves the other way");
        }
        index = core_.sequences.details(index).next_in_transfer;
      }
    });
    return status;
  }

  Status read(std::int32_t index) const {
    const Sequence& mine = core_.sequences[index];
    const bool is_used = mine.life != SequenceLife::kNone;
    RECTO_RETURN_IF_ERROR(expect_same("transfers that it is in",
                                      moving_[static_cast<std::size_t>(index)],
                                      is_used && is_on_the_move(mine) ? 1 : 0));
    if (mine.life == SequenceLife::kReleased && !is_on_the_move(mine)) {
      return Status::failed("it was released, but not closed");
    }
    RECTO_RETURN_IF_ERROR(check_lengths(mine, is_used));
    if (mine.life != SequenceLife::kAlive || mine.state != SequenceState::kRunning) {
      return expect_same("whether it is in a run", mine.run_end > mine.device.length, false);
    }
    RECTO_RETURN_IF_ERROR(check_windows(index));
    RECTO_RETURN_IF_ERROR(check_lookahead(index));
    return mine.run_end > mine.device.length ? check_run(index) : Status::ok();
  }

  Status check_lengths(const Sequence& mine, bool is_used) const {
    const bool has_device =
        is_used && mine.state != SequenceState::kPreempted && mine.state != SequenceState::kSwapped;
    const bool has_host =
        is_used && (mine.state == SequenceState::kSwapped || is_on_the_move(mine));
    if (!has_device) RECTO_RETURN_IF_ERROR(expect_same("device blocks", mine.device.blocks, 0));
    if (!has_host) RECTO_RETURN_IF_ERROR(expect_same("host blocks", mine.host.blocks, 0));
    for (const TableRow& row : {mine.device, mine.host}) {
      if (row.length > row.blocks * core_.geometry.block_size()) {
        return Status::failed("it is longer than its tables");
      }
    }
    if (mine.device.length > 0 && mine.host.length > 0) {
      return Status::failed("it has tokens on both sides");
    }
    if (mine.published > core_.geometry.full_blocks(mine.device.length) ||
        mine.committed > core_.geometry.full_blocks(mine.device.length)) {
      return Status::failed("it published more than it has");
    }
    return Status::ok();
  }

  // The blocks that the next row sees, and the one into which it writes, must be there.
  Status check_windows(std::int32_t index) const {
    const TableRow& row = core_.sequences[index].device;
    for (std::int32_t group = 0; group < core_.geometry.num_groups(); ++group) {
      const std::int64_t needed = core_.geometry.first_needed(group, row.length);
      const bool needs_any = needed < core_.geometry.blocks_for(row.length);
      if (needs_any && core_.device.tables().first(index, group) > needed) {
        return Status::failed("group " + std::to_string(group) + " lacks what its next row sees");
      }
    }
    return Status::ok();
  }

  Status check_lookahead(std::int32_t index) const {
    const TableRow& row = core_.sequences[index].device;
    for (std::int64_t block = core_.geometry.blocks_for(row.length); block < row.blocks; ++block) {
      for (std::int32_t group = 0; group < core_.geometry.num_groups(); ++group) {
        if (!core_.device.is_writable({index, group, block})) {
          return Status::failed("its lookahead is not its own");
        }
      }
    }
    return Status::ok();
  }

  Status check_run(std::int32_t index) const {
    const Sequence& mine = core_.sequences[index];
    const std::int64_t length = mine.device.length;
    if (mine.run_end > mine.device.blocks * core_.geometry.block_size()) {
      return Status::failed("its run goes beyond its blocks");
    }
    RECTO_RETURN_IF_ERROR(expect_same("level", mine.level, core_.geometry.level(mine.run_end - 1)));
    const std::int64_t tail = core_.geometry.full_blocks(length);
    for (std::int32_t group = 0; group < core_.geometry.num_groups(); ++group) {
      if (!core_.geometry.is_aligned(length) && !core_.device.is_writable({index, group, tail})) {
        return Status::failed("it is in a run, but the block that it writes into is not its own");
      }
      RECTO_RETURN_IF_ERROR(check_edge(index, group));
    }
    return Status::ok();
  }

  // During a run, a window's edge stays in a block that no other sequence holds.
  Status check_edge(std::int32_t index, std::int32_t group) const {
    const Sequence& mine = core_.sequences[index];
    const std::int64_t edge = core_.geometry.first_needed(group, mine.device.length);
    if (core_.geometry.first_needed(group, mine.run_end - 1) != edge) {
      return Status::failed("its run goes beyond a block that it is to give back");
    }
    const bool moves = core_.geometry.visible(group, mine.device.length + 1).begin > 0;
    if (!moves || edge >= mine.device.blocks) return Status::ok();
    const BlockId block = core_.device.block({index, group, edge});
    const BlockPool& pool = core_.device.pool();
    if (pool.holders(block) > 1) return Status::failed("others see its window's edge move");
    const bool is_told = pool.content(block) == kNoContent || pool.is_uneven(block);
    return is_told ? Status::ok() : Status::failed("others could find its window's edge");
  }

  const CacheCore& core_;
  std::vector<std::int32_t> moving_;  // by sequence: transfers
};

}  // namespace

Status check_sequences(const CacheCore& core) { return SequencesCheck(core).run(); }

}  // namespace recto::cache
