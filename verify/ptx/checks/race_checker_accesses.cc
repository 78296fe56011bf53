// Accesses, and what they conflict with.

#include <bit>

#include "verify/ptx/checks/race_checker.h"

namespace recto::ptx {

Stamp BlockChecker::stamp(const Access& access) const {
  return {block_,
          static_cast<std::uint16_t>(access.warp * kWarpSize + access.lane),
          0,
          access.kind,
          is_async(access.kind) ? access.operation : warps_[access.warp].clock,
          access.place};
}

// Whether a plain access of this thread block precedes another. May be false for some that do.
[[gnu::always_inline]] inline bool BlockChecker::is_settled(const Stamp& past, const Stamp& now,
                                                            const WarpOrder& warp) const {
  if (past.block != block_ || is_async(past.kind) || past.kind == AccessKind::kCopyWrite) {
    return false;
  }
  const std::uint32_t past_warp = past.thread / kWarpSize;
  if (past_warp != now.thread / kWarpSize) return past.clock <= warp.known[past_warp];
  return past.clock <= warp.all_lanes || (past.thread == now.thread && past.lanes == 0);
}

// Most accesses follow all others. May be false for some that do.
[[gnu::always_inline]] inline bool BlockChecker::is_harmless(const Cell& cell, const Stamp& now,
                                                             const WarpOrder& warp,
                                                             Contents contents) const {
  if (is_async(now.kind)) return false;
  const bool is_new = cell.write.block == 0;
  if (is_new ? contents == Contents::kNothing && !is_write(now.kind)
             : !is_settled(cell.write, now, warp)) {
    return false;
  }
  if (!is_write(now.kind)) return true;
  const auto is_past = [&](const Stamp& read) __attribute__((always_inline)) {
    return read.block == 0 || is_settled(read, now, warp);
  };
  return is_past(cell.reads[0]) && is_past(cell.reads[1]);
}

// Within an epoch, one read of a warp is as good as another.
[[gnu::always_inline]] inline bool BlockChecker::is_recorded(const Cell& cell, const Stamp& now,
                                                             const WarpOrder& warp) const {
  const auto says_it = [&](const Stamp& read) __attribute__((always_inline)) {
    return read.block == now.block && read.thread / kWarpSize == now.thread / kWarpSize &&
           read.kind == now.kind && read.clock >= warp.epoch &&
           (read.lanes != 0 || read.thread == now.thread);
  };
  return !is_async(now.kind) && (says_it(cell.reads[0]) || says_it(cell.reads[1]));
}

Conflict BlockChecker::compare(const Cell& cell, const Stamp& now, const Access& access,
                               Contents contents) const {
  using enum Conflict::Kind;
  const auto conflict_with = [&](const Stamp& past) -> Conflict {
    const bool is_scope_small =
        past.block != now.block && (is_block_atomic(now.kind) || is_block_atomic(past.kind));
    if (is_atomic(now.kind) && is_atomic(past.kind) && !is_scope_small) return {};
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

// The reads of two warps are kept, each by its last one.
void BlockChecker::record_read(Cell& cell, const Stamp& now, const Access& access) const {
  Stamp& first = cell.reads[0];
  Stamp& second = cell.reads[1];
  const auto is_of_warp = [&](const Stamp& read) {
    return read.block == now.block && read.thread / kWarpSize == now.thread / kWarpSize;
  };
  Stamp& kept = first.block == 0 || is_of_warp(first) ? first : second;
  // A read that has not ended says more than any other.
  if (is_of_warp(kept) && kept.kind == AccessKind::kAsyncRead && !is_over(kept, access.warp)) {
    return;
  }
  const bool is_shared_by_lanes =
      is_of_warp(kept) && kept.thread != now.thread &&
      (kept.clock == now.clock || !precedes(kept, access.warp, access.lane));
  const bool was_shared = is_of_warp(kept) && kept.clock == now.clock && kept.lanes != 0;
  kept = now;
  kept.lanes = is_shared_by_lanes || was_shared ? 1 : 0;
}

std::vector<BlockChecker::LaneConflict> BlockChecker::touch(ShadowMemory& shadow,
                                                            const LaneRanges& ranges,
                                                            Access access) {
  Stamp now = stamp(access);
  const WarpOrder& warp = warps_[access.warp];
  const Contents contents = shadow.contents();
  std::vector<LaneConflict> conflicts;
  for (LaneMask left = ranges.lanes; left != 0; left &= left - 1) {
    access.lane = static_cast<unsigned>(std::countr_zero(left));
    now.thread = static_cast<std::uint16_t>(access.warp * kWarpSize + access.lane);
    Conflict conflict;
    shadow.for_each(ranges.addresses[access.lane] - ranges.begin, ranges.bytes, [&](Cell& cell) {
      if (!is_harmless(cell, now, warp, contents)) {
        const Conflict found = compare(cell, now, access, contents);
        if (conflict.kind == Conflict::Kind::kNone) conflict = found;
      }
      if (is_write(now.kind)) {
        cell = {now, {}};
      } else if (!is_recorded(cell, now, warp)) {
        record_read(cell, now, access);
      }
    });
    if (conflict.kind != Conflict::Kind::kNone) conflicts.push_back({access.lane, conflict});
  }
  return conflicts;
}

void BlockChecker::finish_copy(ShadowMemory& shadow, std::size_t offset, std::size_t bytes,
                               const Access& access) {
  const Stamp now = stamp(access);
  shadow.for_each(offset, bytes, [&](Cell& cell) {
    if (cell.write.block == block_ && cell.write.kind == AccessKind::kCopyWrite) cell.write = now;
  });
}

}  // namespace recto::ptx
