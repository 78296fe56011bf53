#include "sim/allocators/placement.h"

#include <algorithm>
#include <bit>
#include <iterator>

#include "core/contract.h"

namespace recto::sim {
namespace {

std::size_t order_of(std::int64_t size) {
  return static_cast<std::size_t>(std::countr_zero(static_cast<std::uint64_t>(size)));
}

}  // namespace

std::unique_ptr<Placement> make_placement(PlacementKind kind, TokenCount pool_slots) {
  switch (kind) {
    case PlacementKind::kBuddy:
      return std::make_unique<BuddyPlacement>(pool_slots.value());
    case PlacementKind::kFirstFit:
      return std::make_unique<FirstFitPlacement>(pool_slots.value());
    case PlacementKind::kBestFit:
      return std::make_unique<BestFitPlacement>(pool_slots.value());
  }
  RECTO_UNREACHABLE("every placement is named above");
}

const char* placement_name(PlacementKind kind) {
  switch (kind) {
    case PlacementKind::kBuddy:
      return "buddy";
    case PlacementKind::kFirstFit:
      return "first-fit";
    case PlacementKind::kBestFit:
      return "best-fit";
  }
  RECTO_UNREACHABLE("every placement is named above");
}

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

HoleListPlacement::HoleListPlacement(std::int64_t pool_slots)
    : pool_slots_(pool_slots), free_slots_(pool_slots) {
  RECTO_CHECK_GT(pool_slots, 0);
  add_hole({0, pool_slots});
}

void HoleListPlacement::add_hole(Region hole) {
  holes_.by_begin.emplace(hole.begin, hole.size);
  holes_.by_size.emplace(hole.size, hole.begin);
}

void HoleListPlacement::remove_hole(Region hole) {
  holes_.by_begin.erase(hole.begin);
  holes_.by_size.erase({hole.size, hole.begin});
}

std::optional<Region> HoleListPlacement::place(std::int64_t slots) {
  RECTO_CHECK_GT(slots, 0);
  const std::optional<std::int64_t> begin = choose(holes_, slots);
  if (!begin) return std::nullopt;
  const std::int64_t size = holes_.by_begin.at(*begin);
  remove_hole({*begin, size});
  if (size > slots) add_hole({*begin + slots, size - slots});
  free_slots_ -= slots;
  return Region{*begin, slots};
}

void HoleListPlacement::free(Region region) {
  free_slots_ += region.size;
  const auto next = holes_.by_begin.lower_bound(region.begin);
  std::optional<Region> after;
  std::optional<Region> before;
  if (next != holes_.by_begin.end()) after = Region{next->first, next->second};
  if (next != holes_.by_begin.begin()) {
    before = Region{std::prev(next)->first, std::prev(next)->second};
  }
  if (after && region.begin + region.size == after->begin) {
    remove_hole(*after);
    region.size += after->size;
  }
  if (before && before->begin + before->size == region.begin) {
    remove_hole(*before);
    region = {before->begin, before->size + region.size};
  }
  add_hole(region);
}

std::int64_t HoleListPlacement::largest_hole() const {
  return holes_.by_size.empty() ? 0 : holes_.by_size.rbegin()->first;
}

std::optional<std::int64_t> FirstFitPlacement::choose(const Holes& holes,
                                                      std::int64_t slots) const {
  const auto hole = std::find_if(holes.by_begin.begin(), holes.by_begin.end(),
                                 [slots](const auto& entry) { return entry.second >= slots; });
  if (hole == holes.by_begin.end()) return std::nullopt;
  return hole->first;
}

std::optional<std::int64_t> BestFitPlacement::choose(const Holes& holes, std::int64_t slots) const {
  const auto hole = holes.by_size.lower_bound({slots, 0});
  if (hole == holes.by_size.end()) return std::nullopt;
  return hole->second;
}

}  // namespace recto::sim
