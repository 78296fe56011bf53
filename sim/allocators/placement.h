#pragma once

// Placement policies decide where in a contiguous pool a region of a given size goes. They know
// holes and sizes, not sequences.
//
// The buddy system (Knuth, The Art of Computer Programming, vol. 1, 2.5): sizes are rounded up to
// powers of two, a free region is halved down to the requested size, and freed halves merge again.
//
// Placement without rounding: keeps free runs by address and merges neighbours at once. The policy
// chooses among the runs that are large enough.

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "core/units.h"
#include "sim/allocators/allocator.h"

namespace recto::sim {

class Placement {
 public:
  virtual ~Placement() = default;

  // The size that a request for `slots` occupies: at least `slots`.
  virtual std::int64_t rounded(std::int64_t slots) const = 0;

  // Takes a free region of rounded(slots); on nullopt, nothing has changed. O(log pool) or
  // O(holes).
  virtual std::optional<Region> place(std::int64_t slots) = 0;

  virtual void free(Region region) = 0;

  // How many regions for `slots` fit into an empty pool.
  virtual std::int64_t capacity(std::int64_t slots) const = 0;

  virtual std::int64_t free_slots() const = 0;    // O(1)
  virtual std::int64_t largest_hole() const = 0;  // O(log pool)
};

enum class PlacementKind : std::uint8_t { kBuddy, kFirstFit, kBestFit };

std::unique_ptr<Placement> make_placement(PlacementKind kind, TokenCount pool_slots);

// "buddy", "first-fit", "best-fit".
const char* placement_name(PlacementKind kind);

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
