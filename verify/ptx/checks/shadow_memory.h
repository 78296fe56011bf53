#pragma once

// What was last done to memory, cell by cell.

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "verify/ptx/lanes/step.h"

namespace recto::ptx {

// Loads and stores with an ordering, volatile ones included, are atomic. Bulk copies and wgmma
// access memory by the asynchronous proxy, in operations that end some time later.
enum class AccessKind : std::uint8_t {
  kRead,
  kAtomicRead,
  kBlockAtomicRead,  // of scope .cta: atomic for threads of the block alone
  kAsyncRead,
  kWrite,
  kAtomic,
  kBlockAtomic,
  kCopyWrite,  // by cp.async, until its thread has waited
  kAsyncWrite,
};

constexpr bool is_write(AccessKind kind) { return kind >= AccessKind::kWrite; }
constexpr bool is_async(AccessKind kind) {
  return kind == AccessKind::kAsyncRead || kind == AccessKind::kAsyncWrite;
}
constexpr bool is_block_atomic(AccessKind kind) {
  return kind == AccessKind::kBlockAtomicRead || kind == AccessKind::kBlockAtomic;
}
constexpr bool is_atomic(AccessKind kind) {
  return kind == AccessKind::kAtomicRead || kind == AccessKind::kAtomic || is_block_atomic(kind);
}

// Who touched a cell, when, and at which place of the program.
struct Stamp {
  std::uint32_t block = 0;  // from 1; 0: none
  std::uint16_t thread = 0;
  std::uint8_t lanes = 0;  // 1: other lanes of its warp did so in the same step
  AccessKind kind = AccessKind::kRead;
  std::uint32_t clock = 0;  // of asynchronous accesses, their operation
  std::uint32_t place = 0;
};

// What memory holds before the kernel writes it.
enum class Contents : std::uint8_t { kGiven, kNothing };

// What was last done to some bytes.
struct Cell {
  Stamp write = {};
  std::array<Stamp, 2> reads = {};  // of two warps
};

// Cells for a range of memory. Pieces of 256 bytes have a cell for every 16 bytes, until smaller
// accesses need one for 8, 4, 2 or 1.
class ShadowMemory {
 public:
  explicit ShadowMemory(std::size_t bytes, Contents contents = Contents::kNothing)
      : pieces_((bytes + kPieceBytes - 1) / kPieceBytes), contents_(contents) {}

  Contents contents() const { return contents_; }
  void forget();  // what was done

  // Calls visit(cell) for each cell of the range.
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
      for (std::size_t i = begin >> piece.shift; i <= end; ++i) visit(piece.cells[i]);
      offset += here;
      bytes -= here;
    }
  }

 private:
  static constexpr std::size_t kPieceBytes = 256;
  static constexpr int kCoarsestShift = 4;
  struct Piece {
    std::uint8_t shift = kCoarsestShift;
    std::vector<Cell> cells = {};
  };

  static unsigned shift_for(std::size_t begin, std::size_t bytes) {
    return static_cast<unsigned>(
        std::countr_zero(begin | bytes | std::size_t{1} << kCoarsestShift));
  }
  static void divide(Piece& piece, unsigned shift);

  std::vector<Piece> pieces_;
  Contents contents_;
};

}  // namespace recto::ptx
