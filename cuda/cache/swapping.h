#pragma once

// How sequences go to the host's memory and come back, in two steps each: blocks on both sides are
// held until the copies between them are made.

#include <cstdint>
#include <span>

#include "core/status.h"
#include "cuda/cache/cache_core.h"

namespace recto::cache {

// As BlockManager's members. With m sequences in a call, blocks that several sequences share cost
// O(m) each.
Result<Transfer> swap_out(CacheCore& core, std::span<const SequenceHandle> sequences);
bool can_swap_out(const CacheCore& core, std::span<const SequenceHandle> sequences);
Result<Transfer> swap_in(CacheCore& core, std::span<const SequenceHandle> sequences,
                         TokenCount lookahead);
bool can_swap_in(const CacheCore& core, std::span<const SequenceHandle> sequences,
                 TokenCount lookahead);
Status complete(CacheCore& core, TransferHandle transfer);

}  // namespace recto::cache
