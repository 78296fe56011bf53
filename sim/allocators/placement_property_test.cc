// Compares placements with models that store the state of every slot.

#include <algorithm>
#include <bit>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "bazel/testing/property.h"
#include "sim/allocators/placement.h"

namespace recto::sim {
namespace {

// A pool as a list of slots, each taken or free.
class SlotModel {
 public:
  explicit SlotModel(std::int64_t pool) : taken_(static_cast<std::size_t>(pool)) {}

  std::int64_t pool() const { return static_cast<std::int64_t>(taken_.size()); }
  bool is_free(Region region) const {
    return std::none_of(at(region.begin), at(region.begin + region.size), [](bool t) { return t; });
  }
  void set(Region region, std::int64_t value) {
    std::fill(taken_.begin() + region.begin, taken_.begin() + region.begin + region.size,
              value != 0);
  }
  std::int64_t free_slots() const { return std::count(taken_.begin(), taken_.end(), false); }

  // Maximal free runs, by address.
  std::vector<Region> holes() const {
    std::vector<Region> holes;
    for (std::int64_t slot = 0; slot < pool(); ++slot) {
      if (taken_[static_cast<std::size_t>(slot)]) continue;
      if (holes.empty() || holes.back().begin + holes.back().size != slot) {
        holes.push_back({slot, 0});
      }
      ++holes.back().size;
    }
    return holes;
  }

 private:
  std::vector<bool>::const_iterator at(std::int64_t slot) const { return taken_.begin() + slot; }

  std::vector<bool> taken_;
};

std::optional<Region> first_fit(const SlotModel& model, std::int64_t slots) {
  for (const Region& hole : model.holes()) {
    if (hole.size >= slots) return Region{hole.begin, slots};
  }
  return std::nullopt;
}

std::optional<Region> best_fit(const SlotModel& model, std::int64_t slots) {
  std::optional<Region> best;
  for (const Region& hole : model.holes()) {
    if (hole.size >= slots && (!best || hole.size < best->size)) best = hole;
  }
  if (best) best->size = slots;
  return best;
}

std::int64_t largest(const std::vector<Region>& holes) {
  std::int64_t largest = 0;
  for (const Region& hole : holes) largest = std::max(largest, hole.size);
  return largest;
}

// Free aligned blocks of a buddy pool that lie in no larger free aligned block: the holes after
// every possible merge. A block lies within one of the powers of two that the pool is split into.
std::map<std::int64_t, std::set<std::int64_t>> joined_holes(const SlotModel& model) {
  std::map<std::int64_t, std::set<std::int64_t>> holes;  // size -> begins
  SlotModel rest = model;
  for (std::int64_t size = std::int64_t{1} << 20; size > 0; size /= 2) {
    for (std::int64_t begin = 0; begin + size <= model.pool(); begin += size) {
      if (!rest.is_free({begin, size})) continue;
      holes[size].insert(begin);
      rest.set({begin, size}, 1);
    }
  }
  return holes;
}

std::optional<Region> buddy(const SlotModel& model, std::int64_t slots) {
  std::int64_t size = 1;
  while (size < slots) size *= 2;
  for (const auto& [hole, begins] : joined_holes(model)) {
    if (hole >= size) return Region{*begins.begin(), size};
  }
  return std::nullopt;
}

using Policy = std::optional<Region> (*)(const SlotModel&, std::int64_t);

// Places and frees regions at random; `largest_hole` computes the model's answer.
void compare(Draw& draw, Placement& placement, SlotModel model, Policy policy,
             std::int64_t (*largest_hole)(const SlotModel&)) {
  std::vector<Region> placed;
  const auto steps = draw.list_of(60, [](Draw& one) { return one.uniform(-40, 40); });
  for (const std::int64_t step : steps) {
    if (step > 0) {
      const std::optional<Region> expected = policy(model, step);
      const std::optional<Region> region = placement.place(step);
      RECTO_REQUIRE(region == expected);
      if (region) {
        RECTO_REQUIRE(region->size == placement.rounded(step));
        model.set(*region, 1);
        placed.push_back(*region);
      }
    } else if (!placed.empty()) {
      const auto victim = placed.begin() + -step % static_cast<std::int64_t>(placed.size());
      placement.free(*victim);
      model.set(*victim, 0);
      placed.erase(victim);
    }
    RECTO_REQUIRE(placement.free_slots() == model.free_slots());
    RECTO_REQUIRE(placement.largest_hole() == largest_hole(model));
  }
  for (const Region& region : placed) placement.free(region);
  RECTO_REQUIRE(placement.free_slots() == model.pool());
}

std::int64_t draw_pool(Draw& draw) { return draw.uniform(1, 299); }

TEST_CASE("placements give the regions that a map of every slot gives") {
  const auto largest_run = [](const SlotModel& model) { return largest(model.holes()); };
  property("first-fit", [&](Draw& draw) {
    const std::int64_t pool = draw_pool(draw);
    const auto placement = make_placement(PlacementKind::kFirstFit, TokenCount(pool));
    compare(draw, *placement, SlotModel(pool), first_fit, largest_run);
  });
  property("best-fit", [&](Draw& draw) {
    const std::int64_t pool = draw_pool(draw);
    const auto placement = make_placement(PlacementKind::kBestFit, TokenCount(pool));
    compare(draw, *placement, SlotModel(pool), best_fit, largest_run);
  });
  property("buddy: splits the smallest hole, and joins whatever can be joined", [](Draw& draw) {
    const std::int64_t pool = draw_pool(draw);
    const auto placement = make_placement(PlacementKind::kBuddy, TokenCount(pool));
    compare(draw, *placement, SlotModel(pool), buddy, [](const SlotModel& model) {
      const auto holes = joined_holes(model);
      return holes.empty() ? std::int64_t{0} : holes.rbegin()->first;
    });
  });
}

TEST_CASE("an empty pool takes as many regions as its capacity says, and not one more") {
  property("for every policy", [](Draw& draw) {
    const std::int64_t pool = draw_pool(draw);
    const std::int64_t slots = draw.growing(1, 99);
    const auto kind =
        draw.element({PlacementKind::kBuddy, PlacementKind::kFirstFit, PlacementKind::kBestFit});
    const std::unique_ptr<Placement> placement = make_placement(kind, TokenCount(pool));
    const std::int64_t capacity = placement->capacity(slots);
    for (std::int64_t i = 0; i < capacity; ++i) RECTO_REQUIRE(placement->place(slots).has_value());
    RECTO_REQUIRE(!placement->place(slots).has_value());
  });
}

TEST_CASE("first-fit takes the lowest hole, best-fit the tightest") {
  const auto with_holes = [](Placement& placement) {
    const Region low = *placement.place(30);
    placement.place(10);
    const Region tight = *placement.place(12);
    placement.place(48);
    placement.free(low);
    placement.free(tight);
    return *placement.place(11);
  };
  const auto first_fit = make_placement(PlacementKind::kFirstFit, TokenCount(100));
  CHECK(with_holes(*first_fit) == Region{0, 11});
  const auto best_fit = make_placement(PlacementKind::kBestFit, TokenCount(100));
  CHECK(with_holes(*best_fit) == Region{40, 11});
}

TEST_CASE("a buddy pool that is no power of two is cut into the powers that add up to it") {
  const auto placement = make_placement(PlacementKind::kBuddy, TokenCount(15'728));
  CHECK(placement->largest_hole() == 8192);
  CHECK(placement->rounded(1025) == 2048);
  CHECK(placement->capacity(2048) == 7);
}

}  // namespace
}  // namespace recto::sim
