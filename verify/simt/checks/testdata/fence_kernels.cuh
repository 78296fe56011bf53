#pragma once

// Thread blocks, or warps, that hand over their writes by fences and atomic operations.

#include <cstdint>

#include <kernel_dialect.h>

namespace recto::simt {

// Whether the handover is right, or what is missing.
enum class Handover : std::uint8_t {
  kByOneThread,   // one thread passes the fences for its thread block
  kByAllThreads,  // each thread passes its own fences
  kNoFenceBefore,
  kNoFenceAfter,
  kFenceOfBlock,  // instead of one across thread blocks
  kNoBarrier,     // the thread with the fence does not wait for the others of its block
  kLateWrite,     // a write after the fence
};

// Each thread block writes a part. The last block sums all parts and resets the counter.
__global__ void add_in_last_block(float* parts, int* counter, float* out, Handover handover);
// Thread block 0 hands over to block 1, which reads flag number `looks_at`; number 0 is right.
__global__ void hand_over_by_flag(float* data, int* flags, float* out, int looks_at);
// Thread block 0 sets a flag for block 1, and block 1 sets another one for block 2.
__global__ void hand_on_by_flags(float* data, int* flags, float* out, int has_fence);
// Thread 0 hands over to a thread of another warp of its block.
__global__ void hand_over_in_block(float* data, int* flag, float* out, int has_fence);
// The same by a flag that is not atomic.
__global__ void hand_over_by_volatile(float* data, volatile int* flag, float* out);

}  // namespace recto::simt
