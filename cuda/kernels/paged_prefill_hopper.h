#pragma once

// Prefill for Hopper cards (sm_90a): warpgroups multiply by wgmma, and another warp copies K and V
// by TMA. Compiled by nvcc alone. Its bits differ from those of paged_prefill.h, because tiles have
// more keys.

#include <kernel_dialect.h>

#include "core/status.h"
#include "cuda/kernels/paged_prefill.h"

namespace recto::kernels {

// Whether the current device is a Hopper card.
bool is_on_hopper();

// Whether the kernel serves a call that has the usual cache and options, as paged_prefill.cu
// defines them: on a Hopper card, fp16 or bf16, head dim 64 or 128, heads at multiples of 64
// elements. The answer does not depend on the lengths of sequences.
bool serves_on_hopper(const PagedPrefillParams& params);

// One thread block for each 128 rows of a (sequence, KV head). The kernel serves the call, `params`
// has passed check_prefill(), and its options have a window.
Status launch_paged_prefill_hopper(const PagedPrefillParams& params, KernelStream stream);

}  // namespace recto::kernels
