#pragma once

// How sequences grow: slots for the next tokens, alone in their blocks, for all or for none.

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

// Running sequences, each once, to lengths of at most a table's. Counts references for a moment in
// the pool, and leaves them as they were. O(blocks concerned).
GrowthPlan plan_growth(CacheCore& core, std::span<const GrowthRequest> requests);

// Whether there is enough for the plan; and the same with a message.
bool has_room(const CacheCore& core, const GrowthPlan& plan);
Status check_room(const CacheCore& core, const GrowthPlan& plan);

// Plans, checks, and gives; the context lengths stay. The copies are in core.scratch. O(blocks
// concerned).
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
