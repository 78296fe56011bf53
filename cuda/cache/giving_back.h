#pragma once

// How sequences give back what they hold.

#include "core/status.h"
#include "cuda/cache/cache_core.h"

namespace recto::cache {

// Gives back all that a sequence holds in the device's pool, and returns it to the start of its
// chain. O(blocks * groups).
void give_back_device(CacheCore& core, std::int32_t sequence);
// Gives back all that it holds in the host's pool.
void give_back_host(CacheCore& core, std::int32_t sequence);

// As BlockManager's members.
Status truncate(CacheCore& core, SequenceHandle sequence, TokenCount length);
Status release(CacheCore& core, SequenceHandle sequence);
Status preempt(CacheCore& core, SequenceHandle sequence);

// Forgets all content of the device, and all pins.
void reset_prefix_cache(CacheCore& core);

}  // namespace recto::cache
