#pragma once

// Copies of whole blocks, within a cache and into another one, judged by the reference's over whole
// pools, in the shape of laws: what is copied, and that nothing else changes.

#include <functional>
#include <span>
#include <string>

#include "core/paged_kv_view.h"
#include "verify/law.h"

namespace recto::verify {

using CopyBlocks =
    std::function<void(const MutablePagedKvView& kv, std::span<const BlockPair> pairs)>;
using SwapBlocks = std::function<void(const PagedKvView& from, const MutablePagedKvView& to,
                                      std::span<const BlockPair> pairs)>;

// "block_copy" and "block_swap", on pools of a case with a few blocks more, which blocks by its
// placement's seed. `backend` is whose name the law is put to; it skips all others.
Law block_copy_law(const std::string& backend, const CopyBlocks& copy);
// Into a pool of the other layout, whose rows have the gaps of the case.
Law block_swap_law(const std::string& backend, const SwapBlocks& swap);

}  // namespace recto::verify
