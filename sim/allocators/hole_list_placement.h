#pragma once

// Placement without rounding: keeps free runs by address and merges neighbours at once. The policy
// chooses among the runs that are large enough.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "sim/allocators/placement.h"

namespace recto::sim {

class HoleListPlacement : public Placement {
 public:
  explicit HoleListPlacement(std::int64_t pool_slots);

  std::int64_t rounded(std::int64_t slots) const override { return slots; }
  std::optional<Region> place(std::int64_t slots) override;
  void free(Region region) override;
  std::int64_t capacity(std::int64_t slots) const override { return pool_slots_ / slots; }
  std::int64_t free_slots() const override { return free_slots_; }
  std::int64_t largest_hole() const override;

 protected:
  struct Holes {
    std::map<std::int64_t, std::int64_t> by_begin;            // begin -> size
    std::set<std::pair<std::int64_t, std::int64_t>> by_size;  // (size, begin) of the same
  };

  // Returns the start of the hole to cut `slots` from, if any is large enough.
  virtual std::optional<std::int64_t> choose(const Holes& holes, std::int64_t slots) const = 0;

 private:
  void add_hole(Region hole);
  void remove_hole(Region hole);

  std::int64_t pool_slots_;
  std::int64_t free_slots_;
  Holes holes_;
};

// Takes the hole at the lowest address that is large enough. O(holes).
class FirstFitPlacement final : public HoleListPlacement {
 public:
  using HoleListPlacement::HoleListPlacement;

 private:
  std::optional<std::int64_t> choose(const Holes& holes, std::int64_t slots) const override;
};

// Takes the smallest hole that is large enough; the lowest among equals. O(log holes).
class BestFitPlacement final : public HoleListPlacement {
 public:
  using HoleListPlacement::HoleListPlacement;

 private:
  std::optional<std::int64_t> choose(const Holes& holes, std::int64_t slots) const override;
};

}  // namespace recto::sim
