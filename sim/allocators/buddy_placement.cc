#include "sim/allocators/buddy_placement.h"

#include <bit>

#include "core/contract.h"

namespace recto::sim {
namespace {

std::size_t order_of(std::int64_t size) {
  return static_cast<std::size_t>(std::countr_zero(static_cast<std::uint64_t>(size)));
}

}  // namespace

BuddyPlacement::BuddyPlacement(std::int64_t pool_slots)
    : pool_slots_(pool_slots), free_slots_(pool_slots) {
  RECTO_CHECK_GT(pool_slots, 0);
  std::int64_t begin = 0;
  for (std::size_t order = kOrders; order-- > 0;) {
    const std::int64_t size = std::int64_t{1} << order;
    if ((pool_slots & size) == 0) continue;
    holes_[order].insert(begin);
    begin += size;
  }
}

std::int64_t BuddyPlacement::rounded(std::int64_t slots) const {
  RECTO_CHECK_GT(slots, 0);
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(slots)));
}

std::optional<Region> BuddyPlacement::place(std::int64_t slots) {
  const std::int64_t size = rounded(slots);
  const std::size_t wanted = order_of(size);
  std::size_t order = wanted;
  while (order < kOrders && holes_[order].empty()) ++order;
  if (order == kOrders) return std::nullopt;

  const std::int64_t begin = *holes_[order].begin();
  holes_[order].erase(holes_[order].begin());
  while (order > wanted) {
    --order;
    holes_[order].insert(begin + (std::int64_t{1} << order));
  }
  free_slots_ -= size;
  return Region{begin, size};
}

// Parts are laid out largest first. Behind a part of size s there are fewer than s slots, so its
// would-be buddy is never among the holes, and nothing is joined across parts.
void BuddyPlacement::free(Region region) {
  free_slots_ += region.size;
  while (true) {
    const std::int64_t buddy = region.begin ^ region.size;
    std::set<std::int64_t>& holes = holes_[order_of(region.size)];
    const auto found = holes.find(buddy);
    if (found == holes.end()) break;
    holes.erase(found);
    region = Region{region.begin & buddy, region.size * 2};
  }
  holes_[order_of(region.size)].insert(region.begin);
}

std::int64_t BuddyPlacement::capacity(std::int64_t slots) const {
  const std::int64_t size = rounded(slots);
  return pool_slots_ / size;  // each part is a multiple of every smaller power of two
}

std::int64_t BuddyPlacement::largest_hole() const {
  for (std::size_t order = kOrders; order-- > 0;) {
    if (!holes_[order].empty()) return std::int64_t{1} << order;
  }
  return 0;
}

}  // namespace recto::sim
