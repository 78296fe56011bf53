#pragma once

// Group-packed decode that fetches blocks whole, by bulk copies: for head-major caches, on sm_90
// and later cards. One thread sets in motion what takes others as many instructions as there are
// 16 bytes.

#include <kernel_dialect.h>

#include "core/status.h"
#include "cuda/kernels/kernel_table.h"
#include "cuda/kernels/split_decode.h"

namespace recto::kernels {

// As launch_group_decode(), and of the same bits.
Status launch_bulk_decode(const SplitDecodeParams& params, KernelStream stream);

// Invalid input: what is not in its table, caches whose slots of a block
// and KV head do not lie side by side, and what launch_group_decode() does not serve either.
Status check_bulk_served(const SplitDecodeParams& params);

// What is instantiated: nothing, if compiled for cards without bulk copies.
KernelTable<SplitDecodeParams> bulk_decode_table();

}  // namespace recto::kernels
