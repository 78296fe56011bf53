#pragma once

// Copies whole blocks of K and V: within a cache, as copy-on-write needs, or from one cache to
// another, as swapping does.

#include <kernel_dialect.h>

#include <cstdint>

#include "core/paged_kv_view.h"
#include "core/status.h"

namespace recto::kernels {

// Both caches are in memory that the device can access: its own, or pinned host memory.
struct BlockCopyParams {
  PagedKvView from = {};  // in any layout, of any type
  // Its blocks have the same size, heads, head dims and type as those of `from`; their number and
  // layout may differ. May be the same cache.
  MutablePagedKvView to = {};
  // [num_pairs], in device memory. The copies are made in any order, so no destination may appear
  // twice and, within one cache, none may be a source.
  const BlockPair* pairs = nullptr;
  std::int64_t num_pairs = 0;
};

// Invalid input: copies that are not served.
Status check_copy(const BlockCopyParams& params);

// One thread block for each (pair, KV head). Does not touch the gaps between rows. Invalid input
// names the field of `params` that is not served; a failure is CUDA's. In both cases nothing has
// been launched.
Status launch_block_copy(const BlockCopyParams& params, KernelStream stream);

}  // namespace recto::kernels
