#include "verify/simt/checks/fence_order.h"

#include <algorithm>
#include <bit>

namespace recto::simt {

void FenceOrder::clear() {
  has_fences_ = false;
  blocks_.clear();
  handed_over_.clear();
}

// A fence both acquires and releases: what the thread has observed is ordered before its later
// accesses, and what it knows is ordered before what it hands over from now on. All fences count as
// sequentially consistent, as __threadfence() is, so a barrier may lie between a fence and the
// atomic operation.
void FenceOrder::pass_fence(Actor actor, const Reach& present) {
  has_fences_ = true;
  Block& block = blocks_[actor.block];
  Sight& sight = block.of_threads[actor.thread];
  join(sight.known, block.of_all.observed);
  join(sight.known, sight.observed);
  join(sight.fenced, block.of_all.known);
  join(sight.fenced, sight.known);
  join(sight.fenced[actor.block], present);
}

// An atomic operation that writes also hands over what earlier ones on the address handed over.
void FenceOrder::pass_atomic(Actor actor, std::uintptr_t address, AccessKind kind) {
  Block& block = blocks_[actor.block];
  Sight& sight = block.of_threads[actor.thread];
  if (kind == AccessKind::kAtomicRead) {
    const auto found = handed_over_.find(address);
    if (found != handed_over_.end()) join(sight.observed, found->second);
    return;
  }
  Reaches& handed_over = handed_over_[address];
  join(sight.observed, handed_over);
  join(handed_over, block.of_all.fenced);
  join(handed_over, sight.fenced);
}

void FenceOrder::pass_barrier(std::uint64_t block) {
  const auto found = blocks_.find(block);
  if (found == blocks_.end()) return;
  Block& state = found->second;
  for (const auto& [thread, sight] : state.of_threads) join(state.of_all, sight);
  state.of_threads.clear();
}

void FenceOrder::pass_warp_barrier(std::uint64_t block, unsigned thread, std::uint32_t lanes) {
  const auto found = blocks_.find(block);
  if (found == blocks_.end()) return;
  std::map<unsigned, Sight>& sights = found->second.of_threads;
  const auto end = sights.lower_bound(thread + kWarpSize);
  Sight joined;
  bool is_any = false;
  for (auto sight = sights.lower_bound(thread); sight != end; ++sight) {
    if ((lanes >> (sight->first - thread) & 1) == 0) continue;
    join(joined, sight->second);
    is_any = true;
  }
  for (std::uint32_t left = is_any ? lanes : 0; left != 0; left &= left - 1) {
    sights[thread + static_cast<unsigned>(std::countr_zero(left))] = joined;
  }
}

bool FenceOrder::was_handed(Actor to, std::uint64_t past_block, Stamp past) const {
  const auto block = blocks_.find(to.block);
  if (block == blocks_.end()) return false;
  if (contains(block->second.of_all.known, past_block, past)) return true;
  const auto sight = block->second.of_threads.find(to.thread);
  return sight != block->second.of_threads.end() && contains(sight->second.known, past_block, past);
}

bool FenceOrder::contains(const Reaches& reaches, std::uint64_t block, Stamp past) {
  const auto found = reaches.find(block);
  if (found == reaches.end()) return false;
  const Reach& reach = found->second;
  if (past.epoch() != reach.epoch) return past.epoch() < reach.epoch;
  return past.thread() < reach.clocks.size() && reach.clocks[past.thread()] >= past.clock();
}

// For one block, a reach into a later epoch contains any reach into an earlier one.
void FenceOrder::join(Reach& reach, const Reach& other) {
  if (other.epoch < reach.epoch) return;
  if (other.epoch > reach.epoch) {
    reach = other;
    return;
  }
  if (reach.clocks.size() < other.clocks.size()) reach.clocks.resize(other.clocks.size());
  for (std::size_t i = 0; i < other.clocks.size(); ++i) {
    reach.clocks[i] = std::max(reach.clocks[i], other.clocks[i]);
  }
}

void FenceOrder::join(Reaches& reaches, const Reaches& others) {
  for (const auto& [block, reach] : others) join(reaches[block], reach);
}

void FenceOrder::join(Sight& sight, const Sight& other) {
  join(sight.fenced, other.fenced);
  join(sight.observed, other.observed);
  join(sight.known, other.known);
}

}  // namespace recto::simt
