#include "verify/ptx/checks/race_checker.h"

#include <algorithm>

namespace recto::ptx {
namespace {

std::uint64_t warp_key(std::uint32_t block, std::uint32_t warp) {
  return std::uint64_t{block} << 32 | warp;
}

// The key of one lane alone.
std::uint64_t lane_key(std::uint32_t block, std::uint32_t thread) {
  return std::uint64_t{1} << 62 | warp_key(block, thread);
}

bool is_known(const Clocks& clocks, std::uint64_t key, std::uint32_t clock) {
  const auto known = clocks.find(key);
  return known != clocks.end() && known->second >= clock;
}

}  // namespace

void BlockChecker::begin(std::uint32_t block, std::uint64_t threads) {
  const auto warps = static_cast<std::uint32_t>((threads + kWarpSize - 1) / kWarpSize);
  block_ = block;
  warps_.assign(warps, {});
  for (WarpOrder& warp : warps_) {
    warp.known.assign(warps, 0);
    warp.proxy_known.assign(warps, 0);
  }
  if (threads % kWarpSize != 0) warps_.back().lanes_there = (1U << threads % kWarpSize) - 1;
}

// Begins a new epoch of the warp, and returns the clock of the one that ends.
std::uint32_t BlockChecker::end_epoch(WarpOrder& warp) {
  warp.epoch = warp.clock + 1;
  return warp.clock++;
}

void BlockChecker::pass_warp_barrier(std::uint32_t number, LaneMask lanes) {
  WarpOrder& warp = warps_[number];
  const std::uint32_t now = end_epoch(warp);
  if ((warp.lanes_there & ~lanes) == 0) {
    warp.all_lanes = now;
    return;
  }
  if (warp.lanes.empty()) warp.lanes.resize(kWarpSize);
  // What any of the lanes knows, all of them know now.
  std::array<std::uint32_t, kWarpSize> joined = {};
  for (unsigned i = 0; i < kWarpSize; ++i) {
    if ((lanes >> i & 1) == 0) continue;
    for (unsigned j = 0; j < kWarpSize; ++j) joined[j] = std::max(joined[j], warp.lanes[i][j]);
    joined[i] = now;
  }
  for (unsigned i = 0; i < kWarpSize; ++i) {
    if ((lanes >> i & 1) != 0) warp.lanes[i] = joined;
  }
}

void BlockChecker::pass_barrier(const std::vector<LaneMask>& arrived,
                                const std::vector<LaneMask>& waiting) {
  std::vector<std::uint32_t> joined(warps_.size(), 0);
  Clocks others;
  for (std::size_t w = 0; w < warps_.size(); ++w) {
    if (arrived[w] == 0) continue;
    WarpOrder& warp = warps_[w];
    for (std::size_t i = 0; i < joined.size(); ++i) {
      joined[i] = std::max(joined[i], warp.known[i]);
    }
    joined[w] = warp.clock;
    if (!warp.others.empty()) merge(others, warp.others);
  }
  for (std::size_t w = 0; w < warps_.size(); ++w) {
    if (arrived[w] == 0) continue;
    WarpOrder& warp = warps_[w];
    if (waiting[w] != 0) {
      for (std::size_t i = 0; i < joined.size(); ++i) {
        warp.known[i] = std::max(warp.known[i], joined[i]);
      }
      if (!others.empty()) merge(warp.others, others);
    }
    // Lanes that did not arrive have no part in it.
    pass_warp_barrier(static_cast<std::uint32_t>(w), arrived[w] & waiting[w]);
  }
}

void BlockChecker::pass_fence(std::uint32_t number, LaneMask lanes, Scope scope) {
  WarpOrder& warp = warps_[number];
  for (const Scope each : {Scope::kBlock, scope}) {  // a wider scope has the narrower in it
    WarpOrder::Fences& fences = warp.order_in(each);
    fences.fenced |= lanes;
    if ((fences.acquired & lanes) == 0) continue;
    merge(warp.others, fences.pending);
    fences.pending.clear();
    fences.acquired = 0;
  }
}

void BlockChecker::pass_proxy_fence(std::uint32_t number, LaneMask lanes) {
  WarpOrder& warp = warps_[number];
  for (unsigned lane = 0; lane < kWarpSize; ++lane) {
    if ((lanes >> lane & 1) != 0) warp.proxy_fences[lane] = warp.clock;
  }
  warp.proxy_fence = end_epoch(warp);
  for (std::uint32_t w = 0; w < warps_.size(); ++w) warp.proxy_known[w] = known_clock(warp, w);
}

void BlockChecker::pass_atomic(const AtomicAccess& access) {
  WarpOrder& warp = warps_[access.warp];
  for (const Scope scope : {Scope::kBlock, Scope::kGrid}) {
    if (scope == Scope::kGrid && access.is_of_block) continue;
    WarpOrder::Fences& fences = warp.order_in(scope);
    Clocks& clocks = grid_.releases[{access.address, scope == Scope::kBlock ? block_ : 0}];
    merge(access.acquires ? warp.others : fences.pending, clocks);
    if (!access.acquires) fences.acquired |= LaneMask{1} << access.lane;
    const bool releases = access.releases || (fences.fenced >> access.lane & 1) != 0;
    if (releases) release({access.warp, kAllLanes, kAllLanes}, clocks);
  }
}

void BlockChecker::release(const Releasing& who, Clocks& into) {
  WarpOrder& warp = warps_[who.warp];
  const bool is_whole = (who.live & ~who.lanes) == 0;
  for (std::uint32_t w = 0; w < warps_.size(); ++w) {
    const std::uint32_t own = is_whole ? warp.clock : warp.all_lanes;
    const std::uint32_t clock = w == who.warp ? own : warp.known[w];
    if (clock != 0) raise(into, warp_key(block_, w), clock);
  }
  for (unsigned lane = 0; lane < kWarpSize && !is_whole; ++lane) {
    if ((who.lanes >> lane & 1) == 0) continue;
    raise(into, lane_key(block_, who.warp * kWarpSize + lane), warp.clock);
    for (unsigned other = 0; other < kWarpSize && !warp.lanes.empty(); ++other) {
      const std::uint32_t clock = warp.lanes[lane][other];
      if (clock != 0) raise(into, lane_key(block_, who.warp * kWarpSize + other), clock);
    }
  }
  merge(into, warp.others);
  end_epoch(warp);
}

void BlockChecker::finish_operations(std::uint32_t warp, const GridChecker::Operation& end) {
  raise(warps_[warp].others, stream_key(end.stream), end.index);
}

std::uint32_t BlockChecker::known_clock(const WarpOrder& warp, std::uint32_t other) const {
  const auto learned = warp.others.find(warp_key(block_, other));
  return std::max(warp.known[other], learned != warp.others.end() ? learned->second : 0);
}

bool BlockChecker::is_over(const Stamp& past, std::uint32_t number) const {
  const GridChecker::Operation& operation = grid_.operation(past.clock);
  return is_known(warps_[number].others, stream_key(operation.stream), operation.index + 1);
}

bool BlockChecker::precedes(const Stamp& past, std::uint32_t number, unsigned lane) const {
  const WarpOrder& warp = warps_[number];
  if (is_async(past.kind)) return is_over(past, number);
  const std::uint32_t past_warp = past.thread / kWarpSize;
  if (past.block != block_ || past_warp != number) {
    if (past.block == block_ && warp.known[past_warp] >= past.clock) return true;
    return is_known(warp.others, warp_key(past.block, past_warp), past.clock) ||
           (past.lanes == 0 &&
            is_known(warp.others, lane_key(past.block, past.thread), past.clock));
  }
  const unsigned past_lane = past.thread % kWarpSize;
  if (past_lane == lane && past.lanes == 0) return true;
  if (past.clock <= warp.all_lanes) return true;
  return !warp.lanes.empty() && past.lanes == 0 && warp.lanes[lane][past_lane] >= past.clock;
}

// The thread that wrote has passed a fence since, or that which will read has, once it knew of the
// write. Of writes by other thread blocks, that is assumed.
bool BlockChecker::is_fenced(const Stamp& past, std::uint32_t number) const {
  if (past.block != block_) return true;
  const std::uint32_t past_warp = past.thread / kWarpSize;
  if (warps_[past_warp].proxy_fences[past.thread % kWarpSize] >= past.clock) return true;
  const WarpOrder& warp = warps_[number];
  return (past_warp == number ? warp.proxy_fence : warp.proxy_known[past_warp]) >= past.clock;
}

}  // namespace recto::ptx
