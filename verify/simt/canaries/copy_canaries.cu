// Faults in asynchronous copies, within a kernel and beside it on a stream.

#include <kernel_dialect.h>
#include <kernel_ptx.h>

#include "verify/simt/canaries/canary.h"

namespace recto::simt {
namespace {

constexpr bool is_planted(Fault fault) { return fault == Fault::kPlanted; }

template <Fault kFault>
__global__ void read_before_wait(const float* in, float* out) {
  KERNEL_SHARED(float, tile, [32]);
  copy_async_4(&tile[threadIdx.x], in + threadIdx.x);
  commit_copies();
  if constexpr (kFault == Fault::kNone) wait_for_all_copies();
  out[threadIdx.x] = tile[threadIdx.x];
  wait_for_all_copies();
}

// Two tiles in flight; the wait that suffices within a loop does not suffice after it.
template <Fault kFault>
__global__ void exit_before_wait(const float* in, float* out) {
  KERNEL_SHARED(float, tiles, [2][32]);
  for (int tile = 0; tile < 2; ++tile) {
    copy_async_4(&tiles[tile][threadIdx.x], in + threadIdx.x);
    commit_copies();
  }
  wait_for_copies<is_planted(kFault) ? 1 : 0>();
  out[threadIdx.x] = tiles[0][threadIdx.x];
}

template <Fault kFault>
__global__ void read_before_phase(const float* in, float* out) {
  KERNEL_SHARED_ALIGNED(16, float, tile, [32]);
  KERNEL_SHARED(Mbarrier, full);
  if (threadIdx.x == 0) {
    init_mbarrier(&full, 1);
    fence_async_proxy();
    arrive_expecting(&full, sizeof tile);
    copy_bulk(tile, in, sizeof tile, &full);
  }
  __syncthreads();
  // The phase before the first one, of the other parity, counts as ended.
  wait_at_mbarrier(&full, is_planted(kFault) ? 1 : 0);
  out[threadIdx.x] = tile[31 - threadIdx.x];
  __syncthreads();
  wait_at_mbarrier(&full, 0);
}

// This kernel is right; the fault is in the host program.
__global__ void add_one(const float* in, float* out) { out[threadIdx.x] = in[threadIdx.x] + 1.0F; }

template <void (*kRight)(const float*, float*), void (*kWrong)(const float*, float*)>
void run_warp(CanaryBench& bench, Fault fault, const char* name) {
  launch_kernel(name, {.block = {32}, .stream = bench.stream()},
                fault == Fault::kNone ? kRight : kWrong,
                bench.floats("in", 32, BufferUse::kReadOnly),
                bench.floats("out", 32, BufferUse::kWriteFirst));
}

#define RECTO_WARP_CANARY(kernel, fault_in_words)                                       \
  {                                                                                     \
#kernel, fault_in_words, [](CanaryBench& bench, Fault fault) {                        \
      run_warp<kernel<Fault::kNone>, kernel<Fault::kPlanted>>(bench, fault, #kernel); \
    } \
  }

void order(Stream* earlier, Stream* later) {
  Event event;
  earlier->record(event);
  static_cast<void>(later->wait(event));  // of no capture, so that nothing can be wrong with it
}

void run_launch_before_copy(CanaryBench& bench, Fault fault) {
  const float* host = bench.floats("host", 32, BufferUse::kReadOnly);
  float* device = bench.floats("device", 32, BufferUse::kReadWrite);
  bench.other_stream()->copy(device, host, 32 * sizeof(float));
  if (!is_planted(fault)) order(bench.other_stream(), bench.stream());
  launch_kernel("add_one", {.block = {32}, .stream = bench.stream()}, add_one, device,
                bench.floats("out", 32, BufferUse::kWriteFirst));
}

void run_copy_before_fill(CanaryBench& bench, Fault fault) {
  const float* host = bench.floats("host", 32, BufferUse::kReadOnly);
  float* device = bench.floats("device", 48, BufferUse::kReadWrite);
  bench.other_stream()->fill(device, 1, 48 * sizeof(float));
  if (!is_planted(fault)) order(bench.other_stream(), bench.stream());
  bench.stream()->copy(device + 16, host, 32 * sizeof(float));
}

const Canary kCanaries[] = {
    RECTO_WARP_CANARY(read_before_wait, "a copy's bytes read before its wait"),
    RECTO_WARP_CANARY(exit_before_wait, "a copy that is never waited for"),
    RECTO_WARP_CANARY(read_before_phase, "a bulk copy's bytes read before its phase ends"),
    {"launch_before_copy", "a launch and a copy on two streams", &run_launch_before_copy},
    {"copy_before_fill", "a copy and a fill on two streams", &run_copy_before_fill},
};

}  // namespace

std::span<const Canary> copy_canaries() { return kCanaries; }

}  // namespace recto::simt
