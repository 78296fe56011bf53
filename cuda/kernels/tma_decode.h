#pragma once

// Group-packed decode that fetches whole blocks by bulk copies: for head-major caches, on sm_90 and
// later cards. One thread starts what otherwise takes one copy instruction for every 16 bytes.

#include <kernel_dialect.h>

#include <cstdint>

#include "core/status.h"
#include "cuda/kernels/kernel_table.h"
#include "cuda/kernels/split_decode.h"

namespace recto::kernels {

// As launch_gqa_decode(), with bit-identical results.
Status launch_tma_decode(const SplitDecodeParams& params, KernelStream stream);

// Invalid input: calls without an instantiation, caches in which the slots of a block and KV head
// are not contiguous, and all calls that launch_gqa_decode() does not serve.
Status check_tma_served(const SplitDecodeParams& params);

// See blocks_per_sm() of kernel_table.h.
std::int64_t tma_blocks_per_sm(const SplitDecodeParams& params);

// The instantiations: none if compiled for cards without bulk copies.
KernelTable<SplitDecodeParams> tma_decode_table();

}  // namespace recto::kernels
