#include "verify/simt/checks/access_order.h"

#include <algorithm>
#include <bit>

#include "core/contract.h"
#include "verify/simt/executor/launch.h"

namespace recto::simt {

void AccessOrder::begin_launch(const Launch& launch) {
  is_cooperative_ = launch.config.is_cooperative;
  grid_ = launch.config.grid;
  block_dim_ = launch.config.block;
  grid_era_ = era_ + 1;
  blocks_.clear();
  turns_.clear();
  rows_.clear();
}

void AccessOrder::begin_block(const ThreadBlock& block) {
  Block& state = blocks_[&block];
  running_block_ = nullptr;
  state.index = block.linear_index();
  state.warps.resize((block_dim_.count() + kWarpSize - 1) / kWarpSize);
  begin_era(state);
  state.first_era = state.era;
}

void AccessOrder::begin_era(Block& block) {
  RECTO_CHECK_LT(era_, UINT32_MAX);
  block.era = ++era_;
  if (turns_.empty() || turns_.back().block != block.index) {
    turns_.push_back({block.era, block.index});
  }
  // Those of other blocks may still be referred to.
  if (!is_cooperative_) rows_.clear();
}

void AccessOrder::pass_barrier(const ThreadBlock& block) { begin_era(blocks_.at(&block)); }

void AccessOrder::pass_grid_barrier() {
  grid_era_ = era_ + 1;
  for (auto& [pointer, block] : blocks_) begin_era(block);
}

void AccessOrder::pass_warp_barrier(const ThreadBlock& block, unsigned warp, std::uint32_t lanes) {
  const Block& state = blocks_.at(&block);
  WarpClocks& clocks = blocks_.at(&block).warps[warp];
  if (clocks.era != state.era) {
    clocks = {.era = state.era};
    for (unsigned lane = 0; lane < kWarpSize; ++lane) clocks.known[lane][lane] = 1;
  }
  LaneClocks joined = {};
  for (std::uint32_t left = lanes; left != 0; left &= left - 1) {
    const LaneClocks& known = clocks.known[static_cast<unsigned>(std::countr_zero(left))];
    for (unsigned i = 0; i < kWarpSize; ++i) joined[i] = std::max(joined[i], known[i]);
  }
  for (std::uint32_t left = lanes; left != 0; left &= left - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(left));
    clocks.known[lane] = joined;
    // Beyond the last clock there is, races are missed, and none is made up.
    clocks.known[lane][lane] = std::min(joined[lane] + 1, Stamp::kClockMax);
  }
}

void AccessOrder::resume(const ThreadState& thread) {
  if (thread.block != running_block_) {
    running_block_ = thread.block;
    running_ = &blocks_.at(thread.block);
  }
  const Block& block = *running_;
  block_ = block.index;
  block_era_ = block.first_era;
  clocks_ = &block.warps[thread.linear / kWarpSize];
  const unsigned lane = thread.lane();
  const std::uint32_t clock = clocks_->era == block.era ? clocks_->known[lane][lane] : 1;
  now_ = Stamp(block.era, thread.linear, clock);
}

std::uint32_t AccessOrder::add_clocks(const LaneClocks& clocks) {
  rows_.push_back(clocks);
  return static_cast<std::uint32_t>(rows_.size() - 1);
}

std::uint64_t AccessOrder::block_of(std::uint32_t era) const {
  const auto after = std::ranges::upper_bound(turns_, era, {}, &Turn::era);
  RECTO_CHECK(after != turns_.begin());
  return std::prev(after)->block;
}

ThreadPlace AccessOrder::place_of(Stamp stamp) const {
  return {index_in(grid_, block_of(stamp.era())), index_in(block_dim_, stamp.thread()),
          stamp.thread()};
}

}  // namespace recto::simt
