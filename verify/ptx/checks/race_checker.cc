#include "verify/ptx/checks/race_checker.h"

#include <algorithm>

namespace recto::ptx {
namespace {

std::uint64_t warp_key(std::uint32_t block, std::uint32_t warp) {
  return std::uint64_t{block} << 32 | warp;
}

using Clocks = std::unordered_map<std::uint64_t, std::uint32_t>;

void merge(Clocks& into, const Clocks& from) {
  for (const auto& [key, clock] : from) {
    std::uint32_t& known = into[key];
    known = std::max(known, clock);
  }
}

}  // namespace

void ShadowMemory::divide(Piece& piece, unsigned shift) {
  if (!piece.cells.empty()) {
    std::vector<Cell> finer(kPieceBytes >> shift);
    for (std::size_t i = 0; i < finer.size(); ++i) {
      finer[i] = piece.cells[i >> (piece.shift - shift)];
    }
    piece.cells = std::move(finer);
  }
  piece.shift = static_cast<std::uint8_t>(shift);
}

void GridChecker::add(std::uintptr_t begin, std::size_t bytes, Contents contents) {
  regions_.push_back({begin, bytes, contents, std::make_unique<ShadowMemory>(bytes)});
  std::sort(regions_.begin(), regions_.end(),
            [](const Region& a, const Region& b) { return a.begin < b.begin; });
}

GridChecker::Region* GridChecker::find(std::uintptr_t address) {
  auto after = std::upper_bound(
      regions_.begin(), regions_.end(), address,
      [](std::uintptr_t wanted, const Region& region) { return wanted < region.begin; });
  if (after == regions_.begin()) return nullptr;
  --after;
  return address < after->begin + after->bytes ? &*after : nullptr;
}

void BlockChecker::begin(std::uint32_t block, std::uint32_t warps) {
  block_ = block;
  warps_.assign(warps, {});
  for (WarpOrder& warp : warps_) warp.known.assign(warps, 0);
}

void BlockChecker::pass_warp_barrier(std::uint32_t number, LaneMask lanes) {
  WarpOrder& warp = warps_[number];
  const std::uint32_t now = warp.clock++;
  if (lanes == kAllLanes) {
    warp.all_lanes = now;
    return;
  }
  if (!warp.has_lanes) {
    warp.has_lanes = true;
    warp.lanes = {};
  }
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

void BlockChecker::pass_atomic(GridChecker& grid, const AtomicAccess& access) {
  WarpOrder& warp = warps_[access.warp];
  GridChecker::Release& release = grid.releases[access.address];
  Clocks& pending = access.acquires ? warp.others : warp.pending;
  merge(pending, release.clocks);
  if (!access.acquires) warp.acquired |= LaneMask{1} << access.lane;
  if (!access.releases && (warp.fenced >> access.lane & 1) == 0) return;
  for (std::size_t w = 0; w < warps_.size(); ++w) {
    const std::uint32_t clock = w == access.warp ? warp.clock : warp.known[w];
    std::uint32_t& known = release.clocks[warp_key(block_, static_cast<std::uint32_t>(w))];
    known = std::max(known, clock);
  }
  merge(release.clocks, warp.others);
  ++warp.clock;
}

bool BlockChecker::precedes(const Stamp& past, std::uint32_t number, unsigned lane) const {
  const WarpOrder& warp = warps_[number];
  const std::uint32_t past_warp = past.thread / kWarpSize;
  if (past.block != block_) {
    const auto known = warp.others.find(warp_key(past.block, past_warp));
    return known != warp.others.end() && known->second >= past.clock;
  }
  if (past_warp != number) {
    if (warp.known[past_warp] >= past.clock) return true;
    const auto known = warp.others.find(warp_key(block_, past_warp));
    return known != warp.others.end() && known->second >= past.clock;
  }
  const unsigned past_lane = past.thread % kWarpSize;
  if (past_lane == lane && past.lanes == 0) return true;
  if (past.clock <= warp.all_lanes) return true;
  return warp.has_lanes && past.lanes == 0 && warp.lanes[lane][past_lane] >= past.clock;
}

Stamp BlockChecker::stamp(const Access& access) const {
  return {block_,
          static_cast<std::uint16_t>(access.warp * kWarpSize + access.lane),
          0,
          access.kind,
          warps_[access.warp].clock,
          access.place};
}

Conflict BlockChecker::touch(Cell& cell, const Stamp& now, const Access& access,
                             Contents contents) {
  Conflict conflict;
  const auto check = [&](const Stamp& past) {
    if (!options_.races || conflict.kind != Conflict::Kind::kNone) return;
    const bool is_same_step = past.block == now.block && past.clock == now.clock &&
                              past.thread / kWarpSize == now.thread / kWarpSize;
    if (is_same_step || precedes(past, access.warp, access.lane)) return;
    conflict.kind = past.block == now.block ? Conflict::Kind::kRace : Conflict::Kind::kGridRace;
    conflict.other = past;
  };
  const auto is_pair = [&](const Stamp& past) {
    return is_atomic(now.kind) && is_atomic(past.kind);
  };
  if (cell.write.block == 0) {
    if (!is_write(now.kind) && contents == Contents::kNothing && options_.uninitialised) {
      conflict.kind = Conflict::Kind::kUninitialised;
    }
  } else if (cell.write.kind == AccessKind::kCopyWrite) {
    conflict.kind = Conflict::Kind::kUnfinishedCopy;
    conflict.other = cell.write;
  } else if (!is_pair(cell.write)) {
    check(cell.write);
  }
  if (is_write(now.kind)) {
    for (const Stamp& read : cell.reads) {
      if (read.block != 0 && !is_pair(read)) check(read);
    }
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
  const bool is_shared_by_lanes =
      is_of_warp(kept) && kept.thread != now.thread &&
      (kept.clock == now.clock || !precedes(kept, access.warp, access.lane));
  const bool was_shared = is_of_warp(kept) && kept.clock == now.clock && kept.lanes != 0;
  kept = now;
  kept.lanes = is_shared_by_lanes || was_shared || access.is_for_lanes ? 1 : 0;
  return conflict;
}

Conflict BlockChecker::touch_shared(std::size_t offset, std::size_t bytes, const Access& access) {
  const Stamp now = stamp(access);
  Conflict conflict;
  shared_.for_each(offset, bytes, [&](Cell& cell) {
    // What earlier thread blocks left does not exist.
    if (cell.write.block != block_) cell.write = {};
    for (Stamp& read : cell.reads) {
      if (read.block != block_) read = {};
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

void BlockChecker::finish_copy(std::size_t offset, std::size_t bytes, const Access& access) {
  Stamp now = stamp(access);
  now.kind = AccessKind::kWrite;
  shared_.for_each(offset, bytes, [&](Cell& cell) {
    if (cell.write.block == block_ && cell.write.kind == AccessKind::kCopyWrite) cell.write = now;
    return true;
  });
}

}  // namespace recto::ptx
