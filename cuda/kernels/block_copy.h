#pragma once

// Whole blocks of K and V to other places of the same cache, as copy-on-write needs them.

#include <kernel_dialect.h>

#include <cstdint>

#include "core/paged_kv_view.h"

namespace recto::kernels {

struct BlockCopyParams {
  MutablePagedKvView kv = {};  // in any layout, of any type
  // [num_pairs], in device memory. No destination is a source, and none stands twice: the copies
  // are made in any order.
  const BlockPair* pairs = nullptr;
  std::int64_t num_pairs = 0;
};

// One thread block for each (pair, KV head). What lies between rows is not touched.
KernelStatus launch_block_copy(const BlockCopyParams& params, KernelStream stream);

}  // namespace recto::kernels
