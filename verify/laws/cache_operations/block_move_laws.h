#pragma once

// Laws for copies of whole blocks, within a cache and into another one. They compare whole pools
// with the reference's: the right blocks are copied, and nothing else changes.

#include <functional>
#include <span>
#include <string>

#include "core/paged_kv_view.h"
#include "verify/law.h"

namespace recto::verify {

using CopyBlocks =
    std::function<CallOutcome(const MutablePagedKvView& kv, std::span<const BlockPair> pairs)>;
using SwapBlocks = std::function<CallOutcome(const PagedKvView& from, const MutablePagedKvView& to,
                                             std::span<const BlockPair> pairs)>;

// "block_copy" and "block_swap", on the pools of a case with a few more blocks; the placement's
// seed determines which blocks are moved. Each law applies only to the backend named `backend`.
Law block_copy_law(const std::string& backend, const CopyBlocks& copy);
// Swaps into a pool of another layout, with the gaps of the case.
Law block_swap_law(const std::string& backend, const SwapBlocks& swap);

}  // namespace recto::verify
