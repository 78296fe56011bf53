#pragma once

// Placement policies decide where in a contiguous pool a region of a given size goes. They know
// holes and sizes, not sequences.

#include <cstdint>
#include <memory>
#include <optional>

#include "core/units.h"
#include "sim/allocators/allocator.h"

namespace recto::sim {

class Placement {
 public:
  virtual ~Placement() = default;

  // The size of a region for a request of `slots`: at least `slots`.
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

enum class PlacementKind : std::uint8_t {
  kBuddy,     // powers of two, halved and merged again; the lowest of the smallest holes
  kFirstFit,  // the hole at the lowest address that is large enough. O(holes)
  kBestFit,   // the smallest hole that is large enough; the lowest among equals. O(log holes)
};

std::unique_ptr<Placement> make_placement(PlacementKind kind, TokenCount pool_slots);

// "buddy", "first-fit", "best-fit".
const char* placement_name(PlacementKind kind);

}  // namespace recto::sim
