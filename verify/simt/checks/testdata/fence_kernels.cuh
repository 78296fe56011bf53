#pragma once

// Thread blocks, or warps, that hand over what they wrote by fences and atomic operations.

#include <cstdint>

#include <kernel_dialect.h>

namespace recto::simt {

// What is right, or missing.
enum class Handover : std::uint8_t {
  kByOneThread,   // which passes the fences for all of its thread block
  kByAllThreads,  // each passes fences of its own
  kNoFenceBefore,
  kNoFenceAfter,
  kFenceOfBlock,  // in place of one across thread blocks
  kNoBarrier,     // the thread with the fence does not wait for the others of its block
  kLateWrite,     // behind the fence
};

// Each thread block writes a part. The last one to come adds up all parts and resets the counter.
__global__ void add_in_last_block(float* parts, int* counter, float* out, Handover handover);
// Thread block 0 gives to 1, which looks at the flag with that number; the right one has number 0.
__global__ void hand_over_by_flag(float* data, int* flags, float* out, int looks_at);
// Thread block 0 tells 1 by one flag, and 1 tells 2 by another one.
__global__ void hand_on_by_flags(float* data, int* flags, float* out, int has_fence);
// Thread 0 gives to a thread of another warp of its block.
__global__ void hand_over_in_block(float* data, int* flag, float* out, int has_fence);
// The same by a flag that is no atomic one.
__global__ void hand_over_by_volatile(float* data, volatile int* flag, float* out);

}  // namespace recto::simt
