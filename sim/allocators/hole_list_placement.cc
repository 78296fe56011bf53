#include "sim/allocators/hole_list_placement.h"

#include <algorithm>

#include "core/contract.h"

namespace recto::sim {

HoleListPlacement::HoleListPlacement(std::int64_t pool_slots)
    : pool_slots_(pool_slots), free_slots_(pool_slots), holes_{{0, pool_slots}} {
  RECTO_CHECK_GT(pool_slots, 0);
}

std::optional<Region> HoleListPlacement::place(std::int64_t slots) {
  RECTO_CHECK_GT(slots, 0);
  const auto hole = choose(holes_, slots);
  if (hole == holes_.end()) return std::nullopt;
  const auto [begin, size] = *hole;
  holes_.erase(hole);
  if (size > slots) holes_.emplace(begin + slots, size - slots);
  free_slots_ -= slots;
  return Region{begin, slots};
}

void HoleListPlacement::free(Region region) {
  free_slots_ += region.size;
  auto next = holes_.lower_bound(region.begin);
  if (next != holes_.end() && region.begin + region.size == next->first) {
    region.size += next->second;
    next = holes_.erase(next);
  }
  if (next != holes_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == region.begin) {
      before->second += region.size;
      return;
    }
  }
  holes_.emplace_hint(next, region.begin, region.size);
}

std::int64_t HoleListPlacement::largest_hole() const {
  std::int64_t largest = 0;
  for (const auto& [begin, size] : holes_) largest = std::max(largest, size);
  return largest;
}

HoleListPlacement::Holes::const_iterator FirstFitPlacement::choose(const Holes& holes,
                                                                   std::int64_t slots) const {
  return std::find_if(holes.begin(), holes.end(),
                      [slots](const auto& hole) { return hole.second >= slots; });
}

HoleListPlacement::Holes::const_iterator BestFitPlacement::choose(const Holes& holes,
                                                                  std::int64_t slots) const {
  auto best = holes.end();
  for (auto hole = holes.begin(); hole != holes.end(); ++hole) {
    if (hole->second < slots) continue;
    if (best == holes.end() || hole->second < best->second) best = hole;
  }
  return best;
}

}  // namespace recto::sim
