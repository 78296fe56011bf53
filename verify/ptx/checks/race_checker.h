#pragma once

// Races and uninitialised memory by epochs: the order of two accesses follows from the barriers
// between them, not from the schedule that happened to run.
//
// Each warp has a clock that goes on with its accesses and at the barriers that it passes. An
// access is stamped with its thread and its warp's clock; it precedes another if the clock is one
// that the other's thread has been told of. Shuffles order nothing.

#include <array>
#include <cstdint>
#include <vector>

#include "verify/ptx/checks/grid_checker.h"
#include "verify/ptx/checks/shadow_memory.h"

namespace recto::ptx {

// An earlier access that is not ordered before the present one.
struct Conflict {
  enum class Kind : std::uint8_t {
    kNone,
    kRace,
    kGridRace,
    kUninitialised,
    kUnfinishedCopy,
    kMissingProxyFence,
  };
  Kind kind = Kind::kNone;
  Stamp other = {};
};

// The order of one thread block's accesses.
class BlockChecker {
 public:
  // Either may be left out.
  struct Options {
    bool races = true;
    bool uninitialised = true;
  };

  BlockChecker(const Options& options, GridChecker& grid) : options_(options), grid_(grid) {}

  void begin(std::uint32_t block, std::uint64_t threads);

  // Warp barriers order these lanes; block barriers order the warps with a non-zero bit: those that
  // arrive before those that wait.
  void pass_warp_barrier(std::uint32_t warp, LaneMask lanes);
  void pass_barrier(const std::vector<LaneMask>& arrived, const std::vector<LaneMask>& waiting);
  // Fences and atomic operations order threads of their scope: the thread block, or all.
  enum class Scope : std::uint8_t { kBlock, kGrid };
  void pass_fence(std::uint32_t warp, LaneMask lanes, Scope scope = Scope::kGrid);
  // The asynchronous proxy sees what these lanes wrote, and what they know to be written.
  void pass_proxy_fence(std::uint32_t warp, LaneMask lanes);
  // An atomic access by one thread. Without an order of its own, fences before and after it give it
  // one.
  struct AtomicAccess {
    std::uint32_t warp = 0;
    unsigned lane = 0;
    std::uintptr_t address = 0;
    bool is_of_block = false;  // its scope
    bool releases = false;
    bool acquires = false;
  };
  void pass_atomic(const AtomicAccess& access);
  // Adds what `lanes`, of those that are `live`, have done and know.
  struct Releasing {
    std::uint32_t warp = 0;
    LaneMask lanes = 0;
    LaneMask live = 0;
  };
  void release(const Releasing& who, Clocks& into);
  void acquire(std::uint32_t warp, const Clocks& from) { merge(warps_[warp].others, from); }
  // All operations of the stream below the index are over, as the warp knows.
  void finish_operations(std::uint32_t warp, const GridChecker::Operation& end);
  static std::uint64_t stream_key(std::uint32_t stream) { return std::uint64_t{1} << 63 | stream; }
  bool has_fenced(std::uint32_t warp, LaneMask lanes, Scope scope) const {
    return (lanes & ~warps_[warp].order_in(scope).fenced) == 0;
  }

  struct Access {
    AccessKind kind = AccessKind::kRead;
    std::uint32_t warp = 0;
    unsigned lane = 0;
    std::uint32_t place = 0;
    std::uint32_t operation = 0;  // of asynchronous kinds
  };
  // When a thread does something, and whether that precedes what another does now.
  Stamp stamp(const Access& access) const;
  bool precedes(const Stamp& past, std::uint32_t warp, unsigned lane) const;
  // Before the lanes of a step make their accesses: those of one step are not ordered.
  void begin_step(std::uint32_t warp) { ++warps_[warp].clock; }
  // Records accesses by lanes of a warp, in one step, and says with what they conflict; lanes
  // without a conflict are left out.
  struct LaneRanges {
    const std::uint64_t* addresses = nullptr;  // [kWarpSize]
    std::uint64_t begin = 0;                   // of the shadow's memory
    std::uint32_t bytes = 0;
    LaneMask lanes = 0;
  };
  struct LaneConflict {
    unsigned lane = 0;
    Conflict conflict = {};
  };
  std::vector<LaneConflict> touch(ShadowMemory& shadow, const LaneRanges& ranges, Access access);
  // The copy has ended: its bytes are written by the thread, now, or by an operation.
  void finish_copy(ShadowMemory& shadow, std::size_t offset, std::size_t bytes,
                   const Access& access);

 private:
  struct WarpOrder {
    LaneMask lanes_there = kAllLanes;  // fewer in the last warp of a thread block
    std::uint32_t clock = 1;
    std::uint32_t epoch = 1;                // the clock after what others may have been told
    std::vector<std::uint32_t> known = {};  // clocks of the block's warps
    std::uint32_t all_lanes = 0;            // the clock up to which all lanes know all
    // Within the warp, [who knows][whom]; empty until lanes meet in smaller groups.
    std::vector<std::array<std::uint32_t, kWarpSize>> lanes = {};
    Clocks others = {};  // of warps that atomic operations and clusters have told of
    // For each scope.
    struct Fences {
      LaneMask fenced = 0;  // lanes that have passed a fence
      // Lanes that wait for a fence after an atomic operation, and what it will make known.
      LaneMask acquired = 0;
      Clocks pending = {};
    };
    std::array<Fences, 2> fences = {};
    Fences& order_in(Scope scope) { return fences[static_cast<std::size_t>(scope)]; }
    const Fences& order_in(Scope scope) const { return fences[static_cast<std::size_t>(scope)]; }
    // The clocks of each lane's, and of any lane's last proxy fence, and what was known there.
    std::array<std::uint32_t, kWarpSize> proxy_fences = {};
    std::uint32_t proxy_fence = 0;
    std::vector<std::uint32_t> proxy_known = {};
  };

  static std::uint32_t end_epoch(WarpOrder& warp);
  bool is_over(const Stamp& past, std::uint32_t warp) const;
  bool is_fenced(const Stamp& past, std::uint32_t warp) const;
  std::uint32_t known_clock(const WarpOrder& warp, std::uint32_t other) const;
  bool is_settled(const Stamp& past, const Stamp& now, const WarpOrder& warp) const;
  bool is_harmless(const Cell& cell, const Stamp& now, const WarpOrder& warp,
                   Contents contents) const;
  Conflict compare(const Cell& cell, const Stamp& now, const Access& access,
                   Contents contents) const;
  void record_read(Cell& cell, const Stamp& now, const Access& access) const;
  bool is_recorded(const Cell& cell, const Stamp& now, const WarpOrder& warp) const;

  Options options_;
  GridChecker& grid_;
  std::uint32_t block_ = 0;
  std::vector<WarpOrder> warps_;
};

}  // namespace recto::ptx
