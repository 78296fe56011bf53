#pragma once

// Types that the dialect and the executor share: the state of a CUDA thread, which threadIdx and
// its siblings read, and calls of operations that several threads do together.

#include <cstdint>

namespace recto::simt {

inline constexpr unsigned kWarpSize = 32;

struct Dim3 {
  // As in CUDA, so that dim3(2) works, too.
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

enum class BarrierReduction : std::uint8_t { kNone, kCount, kAnd, kOr };

// Computes the results of all lanes of `mask` from their inputs. payloads[lane] belongs to that
// lane; the payloads of lanes outside the mask must not be touched.
using CombineFunction = void (*)(void* const* payloads, std::uint32_t mask);

// A warp-wide operation. There is one object in static memory per operation; lanes compare its
// address to know that they have arrived at the same one.
struct Collective {
  const char* name = "";
  CombineFunction combine = nullptr;
  // Whether it orders accesses before it before those after it, for the lanes that meet.
  bool orders_memory = false;
};

}  // namespace recto::simt
