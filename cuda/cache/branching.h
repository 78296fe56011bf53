#pragma once

// How sequences branch: parallel samples and beams.

#include <cstdint>
#include <span>

#include "core/status.h"
#include "cuda/cache/cache_core.h"

namespace recto::cache {

// As BlockManager's members.
Result<SequenceHandle> fork(CacheCore& core, SequenceHandle parent);
Result<std::span<const SequenceHandle>> beam_step(CacheCore& core,
                                                  std::span<const SequenceHandle> parents,
                                                  std::span<const std::int32_t> parent_of);

}  // namespace recto::cache
