#pragma once

// Instructions that touch memory and end at once: ld, st, atom, red, ldmatrix, stmatrix.

#include "verify/ptx/machine/block_memory.h"
#include "verify/ptx/machine/warp.h"

namespace recto::ptx {

// False if the kernel cannot go on.
bool load(BlockMemory& memory, const WarpStep& at, const Detail& detail);
bool store(BlockMemory& memory, const WarpStep& at, const Detail& detail);
bool atomic(BlockMemory& memory, const WarpStep& at, const Detail& detail);
bool load_matrix(BlockMemory& memory, const WarpStep& at, const Detail& detail);
bool store_matrix(BlockMemory& memory, const WarpStep& at, const Detail& detail);

// The lanes with the addresses of the matrices' rows: 0 to 7 those of the first, and so on.
inline LaneMask lanes_with_rows(const Detail& detail) {
  return detail.count == 4 ? kAllLanes : (LaneMask{1} << 8 * detail.count) - 1;
}

struct AtomicValues {
  std::uint64_t old = 0;
  std::uint64_t b = 0;
  std::uint64_t c = 0;     // of compare-and-swap
  bool is_global = false;  // in global memory, sums in fp32 flush subnormal numbers
};
// What an atomic operation leaves where `old` was.
std::uint64_t combined(const Detail& detail, const AtomicValues& values);

}  // namespace recto::ptx
