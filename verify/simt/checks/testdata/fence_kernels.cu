#include "verify/simt/checks/testdata/fence_kernels.cuh"

namespace recto::simt {
namespace {

// The fence before the counter's atomic operation, by the thread that counts.
__device__ void pass_fence_before(Handover handover) {
  if (handover == Handover::kNoFenceBefore) return;
  if (handover == Handover::kFenceOfBlock) {
    __threadfence_block();
  } else {
    __threadfence();
  }
}

}  // namespace

__global__ void add_in_last_block(float* parts, int* counter, float* out, Handover handover) {
  KERNEL_SHARED(int, arrived, [1]);
  const auto thread = static_cast<int>(threadIdx.x);
  const auto threads = static_cast<int>(blockDim.x);
  const auto block = static_cast<int>(blockIdx.x);
  const auto blocks = static_cast<int>(gridDim.x);
  parts[block * threads + thread] = 1.0F;
  if (handover == Handover::kByAllThreads) __threadfence();
  if (handover != Handover::kNoBarrier) __syncthreads();
  if (thread == 0) {
    if (handover != Handover::kByAllThreads) pass_fence_before(handover);
    if (handover == Handover::kLateWrite) parts[block * threads] = 1.0F;
    arrived[0] = atomicAdd(counter, 1);
    if (handover == Handover::kByOneThread) __threadfence();
  }
  __syncthreads();
  if (arrived[0] + 1 < blocks) return;
  if (handover != Handover::kByOneThread && handover != Handover::kNoFenceAfter) __threadfence();
  float sum = 0.0F;
  for (int i = 0; i < blocks; ++i) sum += parts[i * threads + thread];
  out[thread] = sum;
  if (thread == 0) *counter = 0;
}

__global__ void hand_over_by_flag(float* data, int* flags, float* out, int looks_at) {
  if (blockIdx.x == 0) {
    data[0] = 3.0F;
    __threadfence();
    atomicExch(flags, 1);
  } else if (atomicAdd(flags + looks_at, 0) == 1 - looks_at) {
    __threadfence();
    out[0] = data[0];
  }
}

__global__ void hand_on_by_flags(float* data, int* flags, float* out, int has_fence) {
  if (blockIdx.x == 0) {
    data[0] = 3.0F;
    __threadfence();
    atomicExch(flags, 1);
  } else if (blockIdx.x == 1 && atomicAdd(flags, 0) == 1) {
    if (has_fence != 0) __threadfence();
    atomicExch(flags + 1, 1);
  } else if (blockIdx.x == 2 && atomicAdd(flags + 1, 0) == 1) {
    __threadfence();
    out[0] = data[0];
  }
}

__global__ void hand_over_in_block(float* data, int* flag, float* out, int has_fence) {
  if (threadIdx.x == 0) {
    data[0] = 3.0F;
    if (has_fence != 0) __threadfence();
    atomicExch(flag, 1);
  } else if (threadIdx.x == 32) {
    while (atomicAdd(flag, 0) == 0) {
    }
    __threadfence();
    out[0] = data[0];
  }
}

__global__ void hand_over_by_volatile(float* data, volatile int* flag, float* out) {
  if (blockIdx.x == 0) {
    data[0] = 3.0F;
    __threadfence();
    *flag = 1;
  } else if (*flag == 1) {
    __threadfence();
    out[0] = data[0];
  }
}

}  // namespace recto::simt
