#include "verify/simt/checks/access_order.h"

#include <algorithm>
#include <bit>

#include "core/contract.h"
#include "verify/simt/executor/launch.h"

namespace recto::simt {
namespace {

// Past the largest clock, races may be missed, but no false ones are reported.
void advance(std::uint32_t& clock) { clock = std::min(clock + 1, Stamp::kClockMax); }

void join(std::vector<std::uint32_t>& clocks, const std::vector<std::uint32_t>& others) {
  if (clocks.size() < others.size()) clocks.resize(others.size());
  for (std::size_t i = 0; i < others.size(); ++i) clocks[i] = std::max(clocks[i], others[i]);
}

template <typename Visit>
void for_each_lane(std::uint32_t lanes, Visit visit) {
  for (std::uint32_t left = lanes; left != 0; left &= left - 1) {
    visit(static_cast<unsigned>(std::countr_zero(left)));
  }
}

}  // namespace

void AccessOrder::begin_launch(const Launch& launch) {
  is_cooperative_ = launch.config.is_cooperative;
  grid_ = launch.config.grid;
  block_dim_ = launch.config.block;
  grid_epoch_ = epoch_ + 1;
  blocks_.clear();
  turns_.clear();
  rows_.clear();
  fences_.clear();
}

void AccessOrder::begin_block(const ThreadBlock& block) {
  Block& state = blocks_[&block];
  running_block_ = nullptr;
  state.index = block.linear_index();
  state.warps.resize((block_dim_.count() + kWarpSize - 1) / kWarpSize);
  begin_epoch(state);
  state.first_epoch = state.epoch;
  if (!is_cooperative_) fences_.end_blocks();
}

void AccessOrder::begin_epoch(Block& block) {
  RECTO_CHECK_LT(epoch_, UINT32_MAX);
  block.epoch = ++epoch_;
  if (turns_.empty() || turns_.back().block != block.index) {
    turns_.push_back({block.epoch, block.index});
  }
  // Rows of other blocks may still be referenced.
  if (!is_cooperative_) rows_.clear();
}

void AccessOrder::pass_barrier(const ThreadBlock& block) {
  Block& state = blocks_.at(&block);
  begin_epoch(state);
  fences_.pass_barrier(state.index);
}

void AccessOrder::pass_grid_barrier() {
  grid_epoch_ = epoch_ + 1;
  for (auto& [pointer, block] : blocks_) {
    begin_epoch(block);
    fences_.pass_barrier(block.index);
  }
}

// The clocks of a warp in the block's epoch.
AccessOrder::WarpClocks& AccessOrder::clocks_of(Block& block, unsigned warp) {
  WarpClocks& clocks = block.warps[warp];
  if (clocks.epoch != block.epoch) {
    clocks = {.epoch = block.epoch};
    for (unsigned lane = 0; lane < kWarpSize; ++lane) clocks.known[lane][lane] = 1;
  }
  return clocks;
}

AccessOrder::Messages& AccessOrder::messages_of(Block& block) const {
  Messages& messages = block.messages;
  if (messages.epoch != block.epoch) {
    messages = {.epoch = block.epoch};
    messages.known.resize(block_dim_.count());
  }
  return messages;
}

void AccessOrder::pass_warp_barrier(const ThreadBlock& block, unsigned warp, std::uint32_t lanes) {
  Block& state = blocks_.at(&block);
  WarpClocks& clocks = clocks_of(state, warp);
  LaneClocks joined = {};
  for_each_lane(lanes, [&](unsigned lane) {
    const LaneClocks& known = clocks.known[lane];
    for (unsigned i = 0; i < kWarpSize; ++i) joined[i] = std::max(joined[i], known[i]);
  });
  for_each_lane(lanes, [&](unsigned lane) {
    clocks.known[lane] = joined;
    advance(clocks.known[lane][lane]);
  });
  fences_.pass_warp_barrier(state.index, warp * kWarpSize, lanes);
  if (state.messages.epoch != state.epoch) return;
  std::vector<Clocks>& told = state.messages.known;
  Clocks all;
  for_each_lane(lanes, [&](unsigned lane) { join(all, told[warp * kWarpSize + lane]); });
  for_each_lane(lanes, [&](unsigned lane) { told[warp * kWarpSize + lane] = all; });
}

// In the block's epoch.
AccessOrder::Clocks AccessOrder::clocks_known_to(const ThreadState& thread, Block& block) const {
  Clocks clocks(block_dim_.count());
  if (block.messages.epoch == block.epoch) join(clocks, block.messages.known[thread.linear]);
  const unsigned first = thread.linear / kWarpSize * kWarpSize;
  const LaneClocks& known = clocks_of(block, thread.linear / kWarpSize).known[thread.lane()];
  for (unsigned lane = 0; lane < kWarpSize && first + lane < clocks.size(); ++lane) {
    clocks[first + lane] = std::max(clocks[first + lane], known[lane]);
  }
  return clocks;
}

void AccessOrder::release(const ThreadState& thread, const void* object) {
  Block& block = blocks_.at(thread.block);
  join(messages_of(block).objects[object].released, clocks_known_to(thread, block));
  advance(clocks_of(block, thread.linear / kWarpSize).known[thread.lane()][thread.lane()]);
}

void AccessOrder::end_phase(const ThreadBlock& block, const void* object) {
  Messages& messages = messages_of(blocks_.at(&block));
  const auto found = messages.objects.find(object);
  if (found != messages.objects.end()) found->second.ended = found->second.released;
}

void AccessOrder::acquire(const ThreadState& thread, const void* object) {
  Block& block = blocks_.at(thread.block);
  Messages& messages = messages_of(block);
  const auto found = messages.objects.find(object);
  if (found == messages.objects.end()) return;
  const Clocks& ended = found->second.ended;
  join(messages.known[thread.linear], ended);
  const unsigned first = thread.linear / kWarpSize * kWarpSize;
  LaneClocks& known = clocks_of(block, thread.linear / kWarpSize).known[thread.lane()];
  for (unsigned lane = 0; lane < kWarpSize && first + lane < ended.size(); ++lane) {
    known[lane] = std::max(known[lane], ended[first + lane]);
  }
}

void AccessOrder::pass_on(const ThreadBlock& block, const void* from, const void* to) {
  Messages& messages = messages_of(blocks_.at(&block));
  const auto found = messages.objects.find(from);
  if (found != messages.objects.end()) join(messages.objects[to].released, found->second.released);
}

void AccessOrder::pass_fence(const ThreadState& thread) {
  Block& block = blocks_.at(thread.block);
  fences_.pass_fence({block.index, thread.linear},
                     {.epoch = block.epoch, .clocks = clocks_known_to(thread, block)});
  // The thread's later actions do not come before the fence.
  advance(clocks_of(block, thread.linear / kWarpSize).known[thread.lane()][thread.lane()]);
}

void AccessOrder::pass_atomic(const ThreadState& thread, std::uintptr_t address, AccessKind kind) {
  fences_.pass_atomic({blocks_.at(thread.block).index, thread.linear}, address, kind);
}

void AccessOrder::resume(const ThreadState& thread) {
  if (thread.block != running_block_) {
    running_block_ = thread.block;
    running_ = &blocks_.at(thread.block);
  }
  const Block& block = *running_;
  block_ = block.index;
  block_epoch_ = block.first_epoch;
  clocks_ = &block.warps[thread.linear / kWarpSize];
  const unsigned lane = thread.lane();
  const std::uint32_t clock = clocks_->epoch == block.epoch ? clocks_->known[lane][lane] : 1;
  now_ = Stamp(block.epoch, thread.linear, clock);
}

std::uint32_t AccessOrder::add_clocks(const LaneClocks& clocks) {
  rows_.push_back(clocks);
  return static_cast<std::uint32_t>(rows_.size() - 1);
}

std::uint64_t AccessOrder::block_of(std::uint32_t epoch) const {
  const auto after = std::ranges::upper_bound(turns_, epoch, {}, &Turn::epoch);
  RECTO_CHECK(after != turns_.begin());
  return std::prev(after)->block;
}

ThreadPlace AccessOrder::place_of(Stamp stamp) const {
  return {index_in(grid_, block_of(stamp.epoch())), index_in(block_dim_, stamp.thread()),
          stamp.thread()};
}

}  // namespace recto::simt
