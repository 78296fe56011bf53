#pragma once

// How what a sequence computed becomes findable by others.

#include "core/status.h"
#include "cuda/cache/cache_core.h"

namespace recto::cache {

// As BlockManager::commit.
Status commit(CacheCore& core, SequenceHandle sequence, const Tokens& tokens);

}  // namespace recto::cache
