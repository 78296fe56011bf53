// Faults in how threads wait for each other.

#include <kernel_dialect.h>

#include "verify/simt/canaries/canary.h"

namespace recto::simt {
namespace {

// Each thread reads its neighbour's value.
template <Fault kFault>
__global__ void rotate_through_shared(const float* in, float* out) {
  KERNEL_SHARED(float, tile, [64]);
  tile[threadIdx.x] = in[threadIdx.x];
  if constexpr (kFault == Fault::kNone) __syncthreads();
  out[threadIdx.x] = tile[(threadIdx.x + 1) % 64];
}

// The same twice, through the same memory.
template <Fault kFault>
__global__ void rotate_twice(const float* in, float* out) {
  KERNEL_SHARED(float, tile, [64]);
  float value = in[threadIdx.x];
  for (int round = 0; round < 2; ++round) {
    tile[threadIdx.x] = value;
    __syncthreads();
    value = tile[(threadIdx.x + 1) % 64];
    if constexpr (kFault == Fault::kNone) __syncthreads();
  }
  out[threadIdx.x] = value;
}

// Lanes exchange values through shared memory.
template <Fault kFault>
__global__ void exchange_in_warp(const float* in, float* out) {
  KERNEL_SHARED(float, tile, [32]);
  tile[threadIdx.x] = in[threadIdx.x];
  if constexpr (kFault == Fault::kNone) __syncwarp();
  // A shuffle does not order memory, although it makes lanes wait for each other.
  const int other = __shfl_xor_sync(0xffffffff, static_cast<int>(threadIdx.x), 5);
  out[threadIdx.x] = tile[other];
}

template <Fault kFault>
__global__ void wait_in_branch(const float* in, float* out) {
  KERNEL_SHARED(float, sum, [1]);
  if (threadIdx.x == 0) {
    sum[0] = in[0];
    if constexpr (kFault == Fault::kPlanted) __syncthreads();
  }
  __syncthreads();
  out[threadIdx.x] = sum[0];
}

template <Fault kFault>
__global__ void exit_early(const float* in, float* out, int count) {
  KERNEL_SHARED(float, tile, [64]);
  const auto thread = static_cast<int>(threadIdx.x);
  if constexpr (kFault == Fault::kPlanted) {
    if (thread >= count) return;
  }
  tile[thread] = in[thread];
  __syncthreads();
  if (thread < count) out[thread] = tile[thread / 2];
}

template <Fault kFault>
__global__ void sum_over_lanes(const float* in, float* out) {
  float sum = in[threadIdx.x];
  // The mask of a half warp is not enough for lanes 16 to 31.
  const unsigned mask = kFault == Fault::kPlanted ? 0xffffU : 0xffffffffU;
  for (int bit = 1; bit < 32; bit *= 2) sum += __shfl_xor_sync(mask, sum, bit);
  out[threadIdx.x] = sum;
}

template <Fault kFault>
__global__ void take_from_lane(const float* in, float* out) {
  if (threadIdx.x < 8) {
    out[threadIdx.x] = __shfl_sync(0xff, in[threadIdx.x], kFault == Fault::kPlanted ? 9 : 7);
  }
}

// A thread block waits for a flag that another one of the same launch sets.
template <Fault kFault>
__global__ void wait_for_block(volatile int* flag, float* out) {
  if constexpr (kFault == Fault::kPlanted) {
    if (blockIdx.x == 0) {
      while (*flag == 0) __syncwarp();
    }
    if (blockIdx.x == 1) *flag = 1;
  }
  if (threadIdx.x == 0) out[blockIdx.x] = 1.0F;
}

// Copies a row of floats to another, one float per thread.
using RowKernel = void (*)(const float* in, float* out);

template <RowKernel kRight, RowKernel kWrong>
void run_row(CanaryBench& bench, Fault fault, const char* name, unsigned threads) {
  launch_kernel(name, {.block = {threads}, .stream = bench.stream()},
                fault == Fault::kNone ? kRight : kWrong,
                bench.floats("in", threads, BufferUse::kReadOnly),
                bench.floats("out", threads, BufferUse::kWriteFirst));
}

#define RECTO_ROW_CANARY(kernel, threads, fault_in_words)                                     \
  {                                                                                           \
#kernel, fault_in_words, [](CanaryBench& bench, Fault fault) {                              \
      run_row<kernel<Fault::kNone>, kernel<Fault::kPlanted>>(bench, fault, #kernel, threads);   \
    } \
  }

void run_exit_early(CanaryBench& bench, Fault fault) {
  launch_kernel("exit_early", {.block = {64}, .stream = bench.stream()},
                fault == Fault::kNone ? exit_early<Fault::kNone> : exit_early<Fault::kPlanted>,
                bench.floats("in", 64, BufferUse::kReadOnly),
                bench.floats("out", 40, BufferUse::kWriteFirst), 40);
}

void run_take_from_lane(CanaryBench& bench, Fault fault) {
  launch_kernel(
      "take_from_lane", {.block = {32}, .stream = bench.stream()},
      fault == Fault::kNone ? take_from_lane<Fault::kNone> : take_from_lane<Fault::kPlanted>,
      bench.floats("in", 32, BufferUse::kReadOnly), bench.floats("out", 8, BufferUse::kWriteFirst));
}

void run_wait_for_block(CanaryBench& bench, Fault fault) {
  launch_kernel(
      "wait_for_block", {.grid = {2}, .block = {32}, .stream = bench.stream()},
      fault == Fault::kNone ? wait_for_block<Fault::kNone> : wait_for_block<Fault::kPlanted>,
      bench.ints("flag", 1, BufferUse::kReadWrite), bench.floats("out", 2, BufferUse::kWriteFirst));
}

const Canary kCanaries[] = {
    RECTO_ROW_CANARY(rotate_through_shared, 64, "shared memory read before a barrier"),
    RECTO_ROW_CANARY(rotate_twice, 64, "shared memory written again before a barrier"),
    RECTO_ROW_CANARY(exchange_in_warp, 32, "shared memory read before __syncwarp"),
    RECTO_ROW_CANARY(wait_in_branch, 64, "a barrier in a branch"),
    {"exit_early", "threads exit before a barrier", &run_exit_early},
    RECTO_ROW_CANARY(sum_over_lanes, 32, "a lane is not in its own mask"),
    {"take_from_lane", "a value from a lane that does not take part", &run_take_from_lane},
    {"wait_for_block", "a thread block waits for another one", &run_wait_for_block},
};

}  // namespace

std::span<const Canary> barrier_canaries() { return kCanaries; }

}  // namespace recto::simt
