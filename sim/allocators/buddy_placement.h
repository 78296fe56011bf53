#pragma once

// The buddy system (Knuth, The Art of Computer Programming, vol. 1, 2.5): sizes are rounded up to
// powers of two, a free region is halved down to the requested size, and freed halves merge again.

#include <array>
#include <cstdint>
#include <set>

#include "sim/allocators/placement.h"

namespace recto::sim {

class BuddyPlacement final : public Placement {
 public:
  // A pool whose size is not a power of two is split into the powers of two that add up to it,
  // largest first.
  explicit BuddyPlacement(std::int64_t pool_slots);

  std::int64_t rounded(std::int64_t slots) const override;
  std::optional<Region> place(std::int64_t slots) override;
  void free(Region region) override;
  std::int64_t capacity(std::int64_t slots) const override;
  std::int64_t free_slots() const override { return free_slots_; }
  std::int64_t largest_hole() const override;

 private:
  static constexpr std::size_t kOrders = 62;

  std::int64_t pool_slots_;
  std::int64_t free_slots_;
  std::array<std::set<std::int64_t>, kOrders> holes_;  // begins of free regions of size 2^order
};

}  // namespace recto::sim
