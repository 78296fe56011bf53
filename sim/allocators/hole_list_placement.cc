#include "sim/allocators/hole_list_placement.h"

#include <algorithm>
#include <iterator>

#include "core/contract.h"

namespace recto::sim {

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
