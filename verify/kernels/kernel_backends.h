#pragma once

// The kernels of cuda/kernels as implementations under test, run by the executor of verify/simt on
// the caller's memory.

#include <cstdint>
#include <vector>

#include "verify/backend.h"
#include "verify/kernels/device_call.h"

namespace recto::verify {

// One query row a sequence, caches of q's type, or fp8 for q in fp16 and bf16, head dims up to 256.
Backend paged_decode_backend(const KernelRun& how);
Backend split_decode_backend(const KernelRun& how, std::int64_t split_size);

// What group_decode_table() has, head dims the same for K and V; caches that are read 16 bytes at a
// time.
Backend group_decode_backend(const KernelRun& how, std::int64_t split_size);
// What bulk_decode_table() has, of caches whose slots of a block lie side by side.
Backend bulk_decode_backend(const KernelRun& how, std::int64_t split_size);

// What paged_prefill_table() has, with any number of rows; the same caches.
Backend paged_prefill_backend(const KernelRun& how);

// Both, the latter with splits that few contexts divide.
std::vector<Backend> kernel_backends(const KernelRun& how);

}  // namespace recto::verify
