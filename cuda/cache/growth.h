#pragma once

// How sequences grow: slots for the next tokens, in blocks that are theirs alone, for all or for
// none.

#include <cstdint>
#include <span>

#include "core/status.h"
#include "cuda/cache/cache_core.h"

namespace recto::cache {

// What growing takes, in blocks.
struct GrowthPlan {
  std::int64_t fresh = 0;     // for tokens behind the last block
  std::int64_t copies = 0;    // in place of blocks that others see
  std::int64_t returned = 0;  // given back first, as no row will see them
};

// For running sequences, each given once, and lengths of at most a table's. Changes the reference
// counts in the pool temporarily, and restores them. O(blocks concerned).
GrowthPlan plan_growth(CacheCore& core, std::span<const GrowthRequest> requests);

// Whether there are enough blocks for the plan; check_room says the same with a message.
bool has_room(const CacheCore& core, const GrowthPlan& plan);
Status check_room(const CacheCore& core, const GrowthPlan& plan);

// Plans, checks, and takes the blocks; context lengths do not change. The returned copies are in
// core.scratch. O(blocks concerned).
Result<std::span<const BlockCopy>> make_room(CacheCore& core,
                                             std::span<const GrowthRequest> requests);

// As BlockManager's members.
Result<std::span<const BlockCopy>> reserve(CacheCore& core, SequenceHandle sequence,
                                           TokenCount length);
Result<std::span<const BlockCopy>> append(CacheCore& core, SequenceHandle sequence,
                                          TokenCount count);
Result<std::span<const BlockCopy>> append(CacheCore& core,
                                          std::span<const SequenceHandle> sequences);
bool can_append(CacheCore& core, std::span<const SequenceHandle> sequences);

}  // namespace recto::cache
