#include "verify/ptx/checks/race_checker.h"

#include <algorithm>
#include <utility>

namespace recto::ptx {
namespace {

std::uint64_t warp_key(std::uint32_t block, std::uint32_t warp) {
  return std::uint64_t{block} << 32 | warp;
}

// Of one lane alone.
std::uint64_t lane_key(std::uint32_t block, std::uint32_t thread) {
  return std::uint64_t{1} << 62 | warp_key(block, thread);
}

bool is_known(const Clocks& clocks, std::uint64_t key, std::uint32_t clock) {
  const auto known = clocks.find(key);
  return known != clocks.end() && known->second >= clock;
}

}  // namespace

void BlockChecker::begin(std::uint32_t block, std::uint32_t warps,
                         std::vector<std::uint32_t> cluster) {
  block_ = block;
  cluster_ = std::move(cluster);
  warps_.assign(warps, {});
  for (WarpOrder& warp : warps_) {
    warp.known.assign(warps, 0);
    warp.proxy_known.assign(warps, 0);
  }
}

void BlockChecker::pass_warp_barrier(std::uint32_t number, LaneMask lanes) {
  WarpOrder& warp = warps_[number];
  const std::uint32_t now = warp.clock++;
  if (lanes == kAllLanes) {
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

void BlockChecker::pass_fence(std::uint32_t number, LaneMask lanes) {
  WarpOrder& warp = warps_[number];
  warp.fenced |= lanes;
  if ((warp.acquired & lanes) != 0) {
    merge(warp.others, warp.pending);
    warp.pending.clear();
    warp.acquired = 0;
  }
}

void BlockChecker::pass_proxy_fence(std::uint32_t number, LaneMask lanes) {
  WarpOrder& warp = warps_[number];
  for (unsigned lane = 0; lane < kWarpSize; ++lane) {
    if ((lanes >> lane & 1) != 0) warp.proxy_fences[lane] = warp.clock;
  }
  warp.proxy_fence = warp.clock++;
  for (std::uint32_t w = 0; w < warps_.size(); ++w) warp.proxy_known[w] = known_clock(warp, w);
}

void BlockChecker::pass_atomic(const AtomicAccess& access) {
  WarpOrder& warp = warps_[access.warp];
  Clocks& clocks = grid_.releases[access.address];
  merge(access.acquires ? warp.others : warp.pending, clocks);
  if (!access.acquires) warp.acquired |= LaneMask{1} << access.lane;
  if (!access.releases && (warp.fenced >> access.lane & 1) == 0) return;
  release({access.warp, kAllLanes, kAllLanes}, clocks);
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
  ++warp.clock;
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

bool BlockChecker::is_of_cluster(const Stamp& stamp) const {
  return stamp.block == block_ ||
         std::find(cluster_.begin(), cluster_.end(), stamp.block) != cluster_.end();
}

Stamp BlockChecker::stamp(const Access& access) const {
  return {block_,
          static_cast<std::uint16_t>(access.warp * kWarpSize + access.lane),
          0,
          access.kind,
          is_async(access.kind) ? access.operation : warps_[access.warp].clock,
          access.place};
}

Conflict BlockChecker::compare(const Cell& cell, const Stamp& now, const Access& access,
                               Contents contents) const {
  using enum Conflict::Kind;
  const auto conflict_with = [&](const Stamp& past) -> Conflict {
    if (is_atomic(now.kind) && is_atomic(past.kind)) return {};
    if (past.kind == AccessKind::kCopyWrite) return {kUnfinishedCopy, past};
    if (!options_.races) return {};
    const bool is_same_step = past.block == now.block && past.clock == now.clock &&
                              past.thread / kWarpSize == now.thread / kWarpSize &&
                              is_async(past.kind) == is_async(now.kind);
    if (is_same_step) return {};
    if (precedes(past, access.warp, access.lane)) {
      const bool crosses = is_async(now.kind) && is_write(past.kind) && !is_async(past.kind);
      if (crosses && !is_fenced(past, access.warp)) return {kMissingProxyFence, past};
      return {};
    }
    if (past.block != now.block) return {kGridRace, past};
    return {is_async(past.kind) ? kUnfinishedCopy : kRace, past};
  };
  if (cell.write.block != 0) {
    const Conflict conflict = conflict_with(cell.write);
    if (conflict.kind != kNone) return conflict;
  } else if (!is_write(now.kind) && contents == Contents::kNothing && options_.uninitialised) {
    return {kUninitialised, {}};
  }
  if (!is_write(now.kind)) return {};
  for (const Stamp& read : cell.reads) {
    if (read.block == 0) continue;
    const Conflict conflict = conflict_with(read);
    if (conflict.kind != kNone) return conflict;
  }
  return {};
}

Conflict BlockChecker::touch(Cell& cell, const Stamp& now, const Access& access,
                             Contents contents) {
  const Conflict conflict = compare(cell, now, access, contents);
  if (is_write(now.kind)) {
    cell.write = now;
    cell.reads = {};
    return conflict;
  }
  // The reads of two warps are kept, each by its last one.
  Stamp& first = cell.reads[0];
  Stamp& second = cell.reads[1];
  const auto is_of_warp = [&](const Stamp& read) {
    return read.block == now.block && read.thread / kWarpSize == now.thread / kWarpSize;
  };
  Stamp& kept = first.block == 0 || is_of_warp(first) ? first : second;
  // A read that has not ended says more than any other.
  if (is_of_warp(kept) && kept.kind == AccessKind::kAsyncRead && !is_over(kept, access.warp)) {
    return conflict;
  }
  const bool is_shared_by_lanes =
      is_of_warp(kept) && kept.thread != now.thread &&
      (kept.clock == now.clock || !precedes(kept, access.warp, access.lane));
  const bool was_shared = is_of_warp(kept) && kept.clock == now.clock && kept.lanes != 0;
  kept = now;
  kept.lanes = is_shared_by_lanes || was_shared || access.is_for_lanes ? 1 : 0;
  return conflict;
}

Conflict BlockChecker::touch_shared(ShadowMemory& shadow, std::size_t offset, std::size_t bytes,
                                    const Access& access) {
  const Stamp now = stamp(access);
  Conflict conflict;
  shadow.for_each(offset, bytes, [&](Cell& cell) {
    // What earlier thread blocks left does not exist.
    if (!is_of_cluster(cell.write)) cell.write = {};
    for (Stamp& read : cell.reads) {
      if (!is_of_cluster(read)) read = {};
    }
    const Conflict found = touch(cell, now, access, Contents::kNothing);
    if (conflict.kind == Conflict::Kind::kNone) conflict = found;
    return true;
  });
  return conflict;
}

Conflict BlockChecker::touch_global(GridChecker::Region& region, std::size_t offset,
                                    std::size_t bytes, const Access& access) {
  const Stamp now = stamp(access);
  Conflict conflict;
  region.shadow->for_each(offset, bytes, [&](Cell& cell) {
    const Conflict found = touch(cell, now, access, region.contents);
    if (conflict.kind == Conflict::Kind::kNone) conflict = found;
    return true;
  });
  return conflict;
}

void BlockChecker::finish_copy(ShadowMemory& shadow, std::size_t offset, std::size_t bytes,
                               const Access& access) {
  const Stamp now = stamp(access);
  shadow.for_each(offset, bytes, [&](Cell& cell) {
    if (cell.write.block == block_ && cell.write.kind == AccessKind::kCopyWrite) cell.write = now;
    return true;
  });
}

}  // namespace recto::ptx
