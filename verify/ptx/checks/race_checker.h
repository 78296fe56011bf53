#pragma once

// Races and uninitialised memory by epochs: the order of two accesses follows from the barriers
// between them, not from the schedule that happened to run.
//
// Each warp has a clock that goes on with its accesses and at the barriers that it passes. An
// access is stamped with its thread and its warp's clock; it precedes another if the clock is one
// that the other's thread has been told of. Shuffles order nothing.

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "verify/ptx/lanes/step.h"

namespace recto::ptx {

// Loads and stores with an ordering, volatile ones included, are atomic.
enum class AccessKind : std::uint8_t { kRead, kAtomicRead, kWrite, kAtomic, kCopyWrite };

constexpr bool is_write(AccessKind kind) { return kind >= AccessKind::kWrite; }
constexpr bool is_atomic(AccessKind kind) {
  return kind == AccessKind::kAtomicRead || kind == AccessKind::kAtomic;
}

// Who touched a cell, when, and at which place of the program.
struct Stamp {
  std::uint32_t block = 0;  // from 1; 0: nobody
  std::uint16_t thread = 0;
  std::uint8_t lanes = 0;  // 1: other lanes of its warp did so in the same step
  AccessKind kind = AccessKind::kRead;
  std::uint32_t clock = 0;
  std::uint32_t place = 0;
};

// An earlier access that is not ordered before the present one.
struct Conflict {
  enum class Kind : std::uint8_t { kNone, kRace, kGridRace, kUninitialised, kUnfinishedCopy };
  Kind kind = Kind::kNone;
  Stamp other = {};
};

// What memory holds before the kernel writes it.
enum class Contents : std::uint8_t { kGiven, kNothing };

// What was last done to some bytes.
struct Cell {
  Stamp write = {};
  std::array<Stamp, 2> reads = {};  // of two warps
};

// Cells for a range of memory. Pieces of 256 bytes have a cell for every 4 bytes, until smaller
// accesses need one for 2 or 1.
class ShadowMemory {
 public:
  explicit ShadowMemory(std::size_t bytes) : pieces_((bytes + kPieceBytes - 1) / kPieceBytes) {}

  // Calls visit(cell) for each cell of the range, until it returns false.
  template <typename Visit>
  void for_each(std::size_t offset, std::size_t bytes, Visit visit) {
    while (bytes > 0) {
      Piece& piece = pieces_[offset / kPieceBytes];
      const std::size_t begin = offset % kPieceBytes;
      const std::size_t here = begin + bytes < kPieceBytes ? bytes : kPieceBytes - begin;
      const unsigned shift = shift_for(begin, here);
      if (shift < piece.shift) divide(piece, shift);
      if (piece.cells.empty()) piece.cells.resize(kPieceBytes >> piece.shift);
      const std::size_t end = (begin + here - 1) >> piece.shift;
      for (std::size_t i = begin >> piece.shift; i <= end; ++i) {
        if (!visit(piece.cells[i])) return;
      }
      offset += here;
      bytes -= here;
    }
  }
  void clear() {
    for (Piece& piece : pieces_) piece = {};
  }

 private:
  static constexpr std::size_t kPieceBytes = 256;
  struct Piece {
    std::uint8_t shift = 2;
    std::vector<Cell> cells = {};
  };

  static unsigned shift_for(std::size_t begin, std::size_t bytes) {
    const std::size_t both = begin | bytes;
    return (both & 1) != 0 ? 0 : (both & 2) != 0 ? 1 : 2;
  }
  static void divide(Piece& piece, unsigned shift);

  std::vector<Piece> pieces_;
};

class BlockChecker;

// Global memory, whose accesses by all thread blocks of a launch are checked.
class GridChecker {
 public:
  struct Region {
    std::uintptr_t begin = 0;
    std::size_t bytes = 0;
    Contents contents = Contents::kGiven;
    std::unique_ptr<ShadowMemory> shadow = {};
  };

  // Regions that are never written need no checks and are not added.
  void add(std::uintptr_t begin, std::size_t bytes, Contents contents);
  Region* find(std::uintptr_t address);

  // Fences and atomic operations order thread blocks: what a thread did before a fence and an
  // atomic operation precedes what another does after an atomic operation on the same address.
  struct Release {
    std::unordered_map<std::uint64_t, std::uint32_t> clocks = {};  // by block and warp
  };
  std::unordered_map<std::uintptr_t, Release> releases;

 private:
  std::vector<Region> regions_;  // by address
};

// The order of one thread block's accesses, and its shared memory.
class BlockChecker {
 public:
  // Either may be left out.
  struct Options {
    bool races = true;
    bool uninitialised = true;
  };

  BlockChecker(const Options& options, std::size_t shared_bytes)
      : options_(options), shared_(shared_bytes) {}

  void begin(std::uint32_t block, std::uint32_t warps);

  // Warp barriers order these lanes; block barriers order the warps with a non-zero bit: those that
  // arrive before those that wait.
  void pass_warp_barrier(std::uint32_t warp, LaneMask lanes);
  void pass_barrier(const std::vector<LaneMask>& arrived, const std::vector<LaneMask>& waiting);
  void pass_fence(std::uint32_t warp, LaneMask lanes);
  // An atomic access by one thread. Without an order of its own, fences before and after it give it
  // one.
  struct AtomicAccess {
    std::uint32_t warp = 0;
    unsigned lane = 0;
    std::uintptr_t address = 0;
    bool releases = false;
    bool acquires = false;
  };
  void pass_atomic(GridChecker& grid, const AtomicAccess& access);

  struct Access {
    AccessKind kind = AccessKind::kRead;
    std::uint32_t warp = 0;
    unsigned lane = 0;
    std::uint32_t place = 0;
    bool is_for_lanes = false;  // others of its warp do the same
  };
  // Before the lanes of a step make their accesses: those of one step are not ordered.
  void begin_step(std::uint32_t warp) { ++warps_[warp].clock; }
  // Records the access and says with what it conflicts, if with anything.
  Conflict touch_shared(std::size_t offset, std::size_t bytes, const Access& access);
  Conflict touch_global(GridChecker::Region& region, std::size_t offset, std::size_t bytes,
                        const Access& access);
  // The copy has ended: its bytes are written by the thread, now.
  void finish_copy(std::size_t offset, std::size_t bytes, const Access& access);

 private:
  struct WarpOrder {
    std::uint32_t clock = 1;
    std::vector<std::uint32_t> known = {};  // clocks of the block's warps
    std::uint32_t all_lanes = 0;            // the clock up to which all lanes know all
    bool has_lanes = false;
    std::array<std::array<std::uint32_t, kWarpSize>, kWarpSize> lanes = {};  // [who knows][whom]
    LaneMask fenced = 0;    // lanes that have passed a fence since their last release
    LaneMask acquired = 0;  // lanes that wait for a fence after an atomic operation
    // Clocks of other blocks' warps, and those that a fence will make known.
    std::unordered_map<std::uint64_t, std::uint32_t> others = {};
    std::unordered_map<std::uint64_t, std::uint32_t> pending = {};
  };

  bool precedes(const Stamp& past, std::uint32_t warp, unsigned lane) const;
  Conflict touch(Cell& cell, const Stamp& now, const Access& access, Contents contents);
  Stamp stamp(const Access& access) const;

  Options options_;
  ShadowMemory shared_;
  std::uint32_t block_ = 0;
  std::vector<WarpOrder> warps_;
};

}  // namespace recto::ptx
