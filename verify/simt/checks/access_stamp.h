#pragma once

// The time of a thread's access within a launch, in 64 bits. It is kept for each access that may
// still be in a race.

#include <cstdint>

#include "verify/simt/executor/kernel_thread.h"

namespace recto::simt {

// An epoch of a thread block is the time between two barriers. Epoch numbers are unique and grow
// with time. Epoch 0 is before everything. Within an epoch, a thread's clock counts its warp
// barriers.
class Stamp {
 public:
  static constexpr std::uint32_t kClockMax = (1U << 20) - 1;

  constexpr Stamp() = default;
  constexpr Stamp(std::uint32_t epoch, unsigned thread, std::uint32_t clock)
      : bits_(std::uint64_t{epoch} << 32 | std::uint64_t{thread} << 22 |
              std::uint64_t{clock} << 2) {}

  constexpr std::uint32_t epoch() const { return static_cast<std::uint32_t>(bits_ >> 32); }
  constexpr unsigned thread() const { return static_cast<unsigned>(bits_ >> 22) & 1023; }
  constexpr unsigned lane() const { return thread() % kWarpSize; }
  constexpr unsigned warp() const { return thread() / kWarpSize; }
  constexpr std::uint32_t clock() const {
    return static_cast<std::uint32_t>(bits_ >> 2) & kClockMax;
  }

  // Marks an atomic access, which does not conflict with other atomic accesses.
  constexpr bool is_atomic() const { return (bits_ & 1) != 0; }
  constexpr Stamp as_atomic() const { return with(1); }
  // An access by an asynchronous copy that has not been waited for.
  constexpr bool is_pending() const { return (bits_ & 2) != 0; }
  constexpr Stamp as_pending() const { return with(2); }
  constexpr Stamp as_finished() const {
    Stamp stamp = *this;
    stamp.bits_ &= ~std::uint64_t{2};
    return stamp;
  }

  // Whether the stamps are equal except for the lane.
  constexpr bool is_beside(Stamp other) const {
    return ((bits_ ^ other.bits_) & ~(std::uint64_t{kWarpSize - 1} << 22)) == 0;
  }

  friend constexpr bool operator==(Stamp, Stamp) = default;

 private:
  constexpr Stamp with(std::uint64_t flag) const {
    Stamp stamp = *this;
    stamp.bits_ |= flag;
    return stamp;
  }

  std::uint64_t bits_ = 0;
};

}  // namespace recto::simt
