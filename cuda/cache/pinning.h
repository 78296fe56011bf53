#pragma once

// Prefixes that are kept from being evicted.

#include "core/status.h"
#include "cuda/cache/cache_core.h"

namespace recto::cache {

// As BlockManager's members.
Result<Pin> pin(CacheCore& core, const Prompt& prompt);
Status unpin(CacheCore& core, PinHandle pin);

}  // namespace recto::cache
