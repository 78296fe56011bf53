#pragma once

// What a CUDA thread knows about itself: its position in the block and grid. The dialect's
// threadIdx and its siblings read it.

#include <cstdint>

namespace recto::simt {

inline constexpr unsigned kWarpSize = 32;

struct Dim3 {
  // As in CUDA, so that dim3(2) works as well.
  constexpr Dim3(unsigned of_x = 1, unsigned of_y = 1, unsigned of_z = 1)
      : x(of_x), y(of_y), z(of_z) {}

  unsigned x;
  unsigned y;
  unsigned z;

  std::uint64_t count() const { return std::uint64_t{x} * y * z; }
  friend bool operator==(const Dim3&, const Dim3&) = default;
};

// The index whose place in x-fastest order is `linear`.
inline Dim3 index_in(const Dim3& extent, std::uint64_t linear) {
  return {static_cast<unsigned>(linear % extent.x),
          static_cast<unsigned>(linear / extent.x % extent.y),
          static_cast<unsigned>(linear / extent.x / extent.y)};
}

struct KernelThread {
  Dim3 thread_index;
  Dim3 block_index;
  Dim3 block_dim;
  Dim3 grid_dim;
  unsigned linear = 0;   // within the block; lane = linear % 32, warp = linear / 32
  unsigned atomics = 0;  // done by this thread so far
};

// The thread that this OS thread runs; null outside of kernels.
extern constinit thread_local KernelThread* current_thread;

// Where a call is in the source.
struct Site {
  const char* file = "";
  int line = 0;

  friend bool operator==(const Site&, const Site&) = default;
};

}  // namespace recto::simt
