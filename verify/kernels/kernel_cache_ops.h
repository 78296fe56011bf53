#pragma once

// The kernels of cuda/kernels that move K and V, run by the executor on the caller's memory, with
// the signatures of reference/kv_cache_ops.h.

#include <span>

#include "core/attention_views.h"
#include "core/paged_kv_view.h"
#include "cuda/kernels/kv_append.h"
#include "cuda/kernels/kv_write.h"
#include "reference/kv_cache_ops.h"
#include "verify/kernels/device_call.h"

namespace recto::verify {

// Writes into a cache of the new rows' type, or of fp8, or of fp16 or bf16 for fp32 rows.
void write_kv_by_kernel(const KernelRun& how, const KvWriteInputs& inputs,
                        kernels::RepeatedSlots repeated = kernels::RepeatedSlots::kLaterStays);

// The caller owns all memory that `params` refers to.
void append_kv_by_kernel(const KernelRun& how, const kernels::KvAppendParams& params);

// For caches of any type.
void copy_blocks_by_kernel(const KernelRun& how, const MutablePagedKvView& kv,
                           std::span<const BlockPair> pairs);
void swap_blocks_by_kernel(const KernelRun& how, const PagedKvView& from,
                           const MutablePagedKvView& to, std::span<const BlockPair> pairs);
void gather_kv_by_kernel(const KernelRun& how, const GatherInputs& inputs);

}  // namespace recto::verify
