#include "cuda/cache/testing/invariants.h"

#include <cstdint>
#include <vector>

#include "cuda/cache/cache_core.h"
#include "cuda/cache/testing/invariant_parts.h"

namespace recto::cache::testing {
namespace {

bool is_on_the_move(const Sequence& sequence) {
  return sequence.state == SequenceState::kSwappingOut ||
         sequence.state == SequenceState::kSwappingIn;
}

// Checks lengths, states, runs and transfers of sequences.
class SequencesCheck {
 public:
  explicit SequencesCheck(const CacheCore& core)
      : core_(core), moving_(static_cast<std::size_t>(core.sequences.size())) {}

  Status run() {
    RECTO_RETURN_IF_ERROR(read_transfers());
    std::int32_t unused = 0;
    for (std::int32_t index = 0; index < core_.sequences.size(); ++index) {
      if (core_.sequences[index].life == SequenceLife::kNone) ++unused;
      RECTO_RETURN_IF_ERROR(read(index).in(message("sequence ", index)));
    }
    return expect_same(core_.sequences.num_free(), unused, "free places of sequences");
  }

 private:
  Status read_transfers() {
    Status status = Status::ok();
    core_.swap.transfers().visit_used([&](std::int32_t, const TransferRecord& transfer) {
      for (std::int32_t index = transfer.first_sequence; index >= 0 && status.is_ok();
           index = core_.sequences.details(index).next_in_transfer) {
        const bool is_out = core_.sequences[index].state == SequenceState::kSwappingOut;
        if (is_out != (transfer.direction == SwapDirection::kOut)) {
          status = broken("sequence ", index, " moves the other way");
        }
        if (++moving_[static_cast<std::size_t>(index)] > 1) {
          status = Status::failed(message("sequence ", index, " is moved twice"));
        }
      }
    });
    return status;
  }

  Status read(std::int32_t index) const {
    const Sequence& mine = core_.sequences[index];
    const bool is_used = mine.life != SequenceLife::kNone;
    const bool is_moving = is_used && is_on_the_move(mine);
    RECTO_RETURN_IF_ERROR(expect_same(moving_[static_cast<std::size_t>(index)], is_moving ? 1 : 0,
                                      "transfers that it is in"));
    if (mine.life == SequenceLife::kReleased && !is_moving) {
      return broken("it was released, but not closed");
    }
    RECTO_RETURN_IF_ERROR(check_lengths(mine, is_used));
    const bool is_in_run = mine.run_end > mine.device.length;
    if (mine.life != SequenceLife::kAlive || mine.state != SequenceState::kRunning) {
      return expect_same(is_in_run, false, "whether it is in a run");
    }
    RECTO_RETURN_IF_ERROR(check_blocks(index));
    return is_in_run ? check_run(index) : Status::ok();
  }

  Status check_lengths(const Sequence& mine, bool is_used) const {
    const bool is_swapped = is_used && mine.state == SequenceState::kSwapped;
    const bool is_moving = is_used && is_on_the_move(mine);
    if (!is_used || is_swapped || mine.state == SequenceState::kPreempted) {
      RECTO_RETURN_IF_ERROR(expect_same(mine.device.blocks, 0, "device blocks"));
    }
    if (!is_swapped && !is_moving) {
      RECTO_RETURN_IF_ERROR(expect_same(mine.host.blocks, 0, "host blocks"));
    }
    for (const TableRow& row : {mine.device, mine.host}) {
      if (row.length > row.blocks * core_.geometry.block_size()) {
        return broken("it is longer than its tables");
      }
    }
    if (mine.device.length != 0 && mine.host.length != 0) {
      return broken("it has tokens on both sides");
    }
    const std::int64_t full = core_.geometry.full_blocks(mine.device.length);
    return mine.chain.published <= full && mine.chain.committed <= full
               ? Status::ok()
               : broken("it published more than it has");
  }

  // The blocks that the next row sees, and the one into which it writes, must exist; those after
  // the context must not be shared.
  Status check_blocks(std::int32_t index) const {
    const TableRow& row = core_.device.row(index);
    const std::int64_t touched = core_.geometry.blocks_for(row.length);
    for (std::int32_t group = 0; group < core_.geometry.num_groups(); ++group) {
      const std::int64_t needed = core_.geometry.first_needed(group, row.length);
      if (needed < touched && core_.device.first(index, group) > needed) {
        return broken("group ", group, " lacks what its next row sees");
      }
      for (std::int64_t block = touched; block < row.blocks; ++block) {
        if (!core_.device.is_writable({index, group, block})) {
          return broken("its lookahead is not its own");
        }
      }
    }
    return Status::ok();
  }

  Status check_run(std::int32_t index) const {
    const Sequence& mine = core_.sequences[index];
    const std::int64_t length = mine.device.length;
    if (mine.run_end > mine.device.blocks * core_.geometry.block_size()) {
      return broken("its run goes beyond its blocks");
    }
    RECTO_RETURN_IF_ERROR(expect_same(mine.level, core_.geometry.level(mine.run_end - 1), "level"));
    const std::int64_t tail = core_.geometry.full_blocks(length);
    for (std::int32_t group = 0; group < core_.geometry.num_groups(); ++group) {
      const bool is_its_own =
          core_.geometry.is_aligned(length) || core_.device.is_writable({index, group, tail});
      if (!is_its_own) {
        return broken("it is in a run, but the block that it writes into is not its own");
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
      return broken("its run goes beyond a block that it is to give back");
    }
    const bool moves = core_.geometry.visible(group, mine.device.length + 1).begin > 0;
    if (!moves || edge >= mine.device.blocks) return Status::ok();
    const BlockId block = core_.device.block({index, group, edge});
    const BlockPool& pool = core_.device.pool();
    if (pool.holders(block) > 1) return broken("others see its window's edge move");
    return pool.content(block) == kNoContent || pool.is_uneven(block)
               ? Status::ok()
               : broken("others could find its window's edge");
  }

  const CacheCore& core_;
  std::vector<std::int32_t> moving_;  // by sequence: transfers
};

}  // namespace

Status check_invariants(const BlockManager& manager) {
  const CacheCore& core = CacheCore::of(manager);
  RECTO_RETURN_IF_ERROR(SequencesCheck(core).run());
  RECTO_RETURN_IF_ERROR(check_holdings(core, core.device, "device"));
  RECTO_RETURN_IF_ERROR(check_holdings(core, core.swap.host(), "host"));
  return check_index(core);
}

}  // namespace recto::cache::testing
