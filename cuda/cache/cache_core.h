#pragma once

// The parts of a block manager, and the scratch memory of its operations.

#include <cstdint>
#include <memory>

#include "core/status.h"
#include "cuda/cache/block_manager.h"
#include "cuda/cache/cache_geometry.h"
#include "cuda/cache/fixed_array.h"
#include "cuda/cache/holdings.h"
#include "cuda/cache/prefix_cache.h"
#include "cuda/cache/sequence_table.h"
#include "cuda/cache/swap_space.h"

namespace recto::cache {

// A sequence that needs slots for tokens up to `length`.
struct GrowthRequest {
  std::int32_t sequence = 0;
  std::int64_t length = 0;
};

struct CacheCore {
  static Result<std::unique_ptr<CacheCore>> create(const CacheOptions& options);
  explicit CacheCore(const CacheOptions& cache_options);
  CacheCore(const CacheCore&) = delete;  // its parts refer to each other
  CacheCore& operator=(const CacheCore&) = delete;

  // The parts of a manager, for checks in this folder and for batch tables.
  static const CacheCore& of(const BlockManager& manager) { return *manager.core_; }

  CacheOptions options;
  CacheGeometry geometry;
  SequenceTable sequences;
  Holdings device;
  PrefixCache prefix;
  SwapSpace swap;
  // Scratch memory, in which results are also returned.
  FixedArray<BlockCopy> copies;           // [max_sequences * num_groups]
  FixedArray<GrowthRequest> requests;     // [max_sequences]
  FixedArray<SequenceHandle> beams;       // [2, max_sequences]
  FixedArray<std::int32_t> child_counts;  // [max_sequences]

 private:
  Status allocate();
};

}  // namespace recto::cache
