#pragma once

// The kernels of cuda/kernels as backends, run by the executor of verify/simt on the caller's
// memory.

#include <cstdint>
#include <vector>

#include "verify/backend.h"
#include "verify/kernels/device_call.h"

namespace recto::verify {

// Support one query row per sequence, caches of q's type, or fp8 for q in fp16 and bf16, and head
// dims up to 256.
Backend reference_decode_backend(const KernelRun& how);
Backend split_decode_backend(const KernelRun& how, std::int64_t split_size);

// Supports the instantiations of gqa_decode_table(), with equal head dims for K and V, and caches
// that can be read 16 bytes at a time.
Backend gqa_decode_backend(const KernelRun& how, std::int64_t split_size);
// Supports the instantiations of tma_decode_table(), for caches whose blocks have contiguous slots.
Backend tma_decode_backend(const KernelRun& how, std::int64_t split_size);

// Supports the instantiations of paged_prefill_table(), any number of rows, and the same caches as
// GQA decode.
Backend paged_prefill_backend(const KernelRun& how);

// The paged and split decode backends, the latter with a split size that divides few contexts.
std::vector<Backend> kernel_backends(const KernelRun& how);

}  // namespace recto::verify
