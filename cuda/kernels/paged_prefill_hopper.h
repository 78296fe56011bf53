#pragma once

// Prefill for Hopper cards (sm_90a): products of a warpgroup (wgmma), whose operands a further warp
// copies as boxes (TMA). Compiled by nvcc alone. Its results are not those of paged_prefill.h bit
// for bit: tiles have more keys.

#include <kernel_dialect.h>

#include "core/status.h"
#include "cuda/kernels/paged_prefill.h"

namespace recto::kernels {

inline constexpr int kHopperRows = 128;

// Whether the current device is a Hopper card.
bool is_on_hopper();

// Whether the current device is a Hopper card and the kernel serves the call: fp16 or bf16, head
// dim 64 or 128, a cache that is not packed with blocks of a multiple of 16 slots; no soft cap, no
// ALiBi. Sequence lengths do not matter.
bool serves_on_hopper(const PagedPrefillParams& params);

// One thread block for each 128 rows of a (sequence, KV head). `params` has passed
// serves_on_hopper() and check_prefill(), and its options have a window.
Status launch_paged_prefill_hopper(const PagedPrefillParams& params, KernelStream stream);

}  // namespace recto::kernels
