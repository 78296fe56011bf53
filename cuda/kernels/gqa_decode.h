#pragma once

// Decode attention, packed by group: the query heads that share a KV head are the rows of one
// matrix product, so keys and values are read once for all of them.

#include <kernel_dialect.h>

#include <cstdint>

#include "core/status.h"
#include "cuda/kernels/kernel_table.h"
#include "cuda/kernels/split_decode.h"

namespace recto::kernels {

// One thread block for each (sequence, KV head, sixteen of its query heads, split). With one split
// it writes out and lse and needs no states; with more it writes `states`, and launch_split_merge()
// must follow.
Status launch_gqa_decode(const SplitDecodeParams& params, KernelStream stream);

// Invalid input: calls without an instantiation, K and V of different head dims, and caches that
// cannot be read 16 bytes at a time.
Status check_group_served(const SplitDecodeParams& params);

// See blocks_per_sm() of kernel_table.h.
std::int64_t gqa_blocks_per_sm(const SplitDecodeParams& params);

// The instantiations.
KernelTable<SplitDecodeParams> gqa_decode_table();

}  // namespace recto::kernels
