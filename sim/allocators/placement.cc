#include "sim/allocators/placement.h"

#include <algorithm>
#include <array>
#include <bit>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "core/contract.h"

namespace recto::sim {
namespace {

std::size_t order_of(std::int64_t size) {
  return static_cast<std::size_t>(std::countr_zero(static_cast<std::uint64_t>(size)));
}

// The buddy system (Knuth, The Art of Computer Programming, vol. 1, 2.5): sizes are rounded up to
// powers of two, a free region is halved down to the requested size, and freed halves merge again.
// A pool whose size is not a power of two is split into the powers of two that add up to it,
// largest first.
class BuddyPlacement final : public Placement {
 public:
  explicit BuddyPlacement(std::int64_t pool_slots)
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

  std::int64_t rounded(std::int64_t slots) const override {
    RECTO_CHECK_GT(slots, 0);
    return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(slots)));
  }

  std::optional<Region> place(std::int64_t slots) override {
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

  // Parts are laid out in descending size. Behind a part of size s there are fewer than s slots, so
  // its would-be buddy is never among the holes, and nothing merges across parts.
  void free(Region region) override {
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

  // Each part is a multiple of every smaller power of two.
  std::int64_t capacity(std::int64_t slots) const override { return pool_slots_ / rounded(slots); }

  std::int64_t free_slots() const override { return free_slots_; }

  std::int64_t largest_hole() const override {
    for (std::size_t order = kOrders; order-- > 0;) {
      if (!holes_[order].empty()) return std::int64_t{1} << order;
    }
    return 0;
  }

 private:
  static constexpr std::size_t kOrders = 62;

  std::int64_t pool_slots_;
  std::int64_t free_slots_;
  std::array<std::set<std::int64_t>, kOrders> holes_;  // begins of free regions of size 2^order
};

// Placement without rounding: keeps free runs by address and merges neighbours at once. First-fit
// or best-fit chooses among the runs that are large enough.
class HoleListPlacement final : public Placement {
 public:
  HoleListPlacement(std::int64_t pool_slots, PlacementKind kind)
      : pool_slots_(pool_slots), free_slots_(pool_slots), kind_(kind) {
    RECTO_CHECK_GT(pool_slots, 0);
    add_hole({0, pool_slots});
  }

  std::int64_t rounded(std::int64_t slots) const override { return slots; }

  std::optional<Region> place(std::int64_t slots) override {
    RECTO_CHECK_GT(slots, 0);
    const std::optional<Region> hole =
        kind_ == PlacementKind::kFirstFit ? first(slots) : best(slots);
    if (!hole) return std::nullopt;
    remove_hole(*hole);
    if (hole->size > slots) add_hole({hole->begin + slots, hole->size - slots});
    free_slots_ -= slots;
    return Region{hole->begin, slots};
  }

  void free(Region region) override {
    free_slots_ += region.size;
    const auto next = by_begin_.lower_bound(region.begin);
    std::optional<Region> after;
    std::optional<Region> before;
    if (next != by_begin_.end()) after = Region{next->first, next->second};
    if (next != by_begin_.begin()) before = Region{std::prev(next)->first, std::prev(next)->second};
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

  std::int64_t capacity(std::int64_t slots) const override { return pool_slots_ / slots; }
  std::int64_t free_slots() const override { return free_slots_; }
  std::int64_t largest_hole() const override {
    return by_size_.empty() ? 0 : by_size_.rbegin()->first;
  }

 private:
  std::optional<Region> first(std::int64_t slots) const {
    const auto hole = std::find_if(by_begin_.begin(), by_begin_.end(),
                                   [slots](const auto& entry) { return entry.second >= slots; });
    if (hole == by_begin_.end()) return std::nullopt;
    return Region{hole->first, hole->second};
  }

  std::optional<Region> best(std::int64_t slots) const {
    const auto hole = by_size_.lower_bound({slots, 0});
    if (hole == by_size_.end()) return std::nullopt;
    return Region{hole->second, hole->first};
  }

  void add_hole(Region hole) {
    by_begin_.emplace(hole.begin, hole.size);
    by_size_.emplace(hole.size, hole.begin);
  }

  void remove_hole(Region hole) {
    by_begin_.erase(hole.begin);
    by_size_.erase({hole.size, hole.begin});
  }

  std::int64_t pool_slots_;
  std::int64_t free_slots_;
  PlacementKind kind_;
  std::map<std::int64_t, std::int64_t> by_begin_;            // begin -> size
  std::set<std::pair<std::int64_t, std::int64_t>> by_size_;  // (size, begin) of the same holes
};

}  // namespace

std::unique_ptr<Placement> make_placement(PlacementKind kind, TokenCount pool_slots) {
  if (kind == PlacementKind::kBuddy) return std::make_unique<BuddyPlacement>(pool_slots.value());
  return std::make_unique<HoleListPlacement>(pool_slots.value(), kind);
}

const char* placement_name(PlacementKind kind) {
  constexpr const char* kNames[] = {"buddy", "first-fit", "best-fit"};
  return kNames[static_cast<int>(kind)];
}

}  // namespace recto::sim
