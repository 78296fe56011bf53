#pragma once

// A pool of a scenario as plain data.

#include <cstdint>
#include <memory>

#include "core/units.h"
#include "sim/allocators/allocator.h"
#include "sim/allocators/placement.h"

namespace recto::sim {

enum class AllocatorKind : std::uint8_t {
  kContiguousMax,
  kContiguousPow2,
  kContiguousOracle,
  kPaged,
  kPrefixCached,
};

struct PoolSpec {
  AllocatorKind kind = AllocatorKind::kPaged;
  TokenCount slots{0};
  TokenCount block_size{16};                        // paged
  BlockCount null_blocks{0};                        // paged
  PlacementKind placement = PlacementKind::kBuddy;  // contiguous
  TokenCount max_length{2048};                      // contiguous

  bool is_paged() const {
    return kind == AllocatorKind::kPaged || kind == AllocatorKind::kPrefixCached;
  }
};

std::unique_ptr<Allocator> make_allocator(const PoolSpec& pool);

// The slots that a contiguous allocator requests, by formulas that share nothing with it.
std::int64_t requested_slots(const PoolSpec& pool, const Request& request);

}  // namespace recto::sim
