#pragma once

// Whole blocks of K and V to other places: within a cache, as copy-on-write needs them, or from one
// to another, as swapping does.

#include <kernel_dialect.h>

#include <cstdint>

#include "core/paged_kv_view.h"
#include "core/status.h"

namespace recto::kernels {

// Both caches are in memory that the device addresses: its own, or pinned memory of the host.
struct BlockCopyParams {
  PagedKvView from = {};  // in any layout, of any type
  // Blocks of the same size, heads, head dims and type; how many, and how they lie, may differ. It
  // may be the same cache.
  MutablePagedKvView to = {};
  // [num_pairs], in device memory. No destination stands twice, and within one cache none is a
  // source: the copies are made in any order.
  const BlockPair* pairs = nullptr;
  std::int64_t num_pairs = 0;
};

// Invalid input: what is not served.
Status check_copy(const BlockCopyParams& params);

// One thread block for each (pair, KV head). What lies between rows is not touched. Invalid
// input names the field of `params` that is not served, a failure is CUDA's; nothing was launched
// then.
Status launch_block_copy(const BlockCopyParams& params, KernelStream stream);

}  // namespace recto::kernels
