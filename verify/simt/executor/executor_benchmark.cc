// The cost of a CUDA thread: whole thread blocks, barriers, shuffles, on one OS thread and on two.

#include "verify/simt/executor/executor.h"

#include <benchmark/benchmark.h>

#include <kernel_dialect.h>

#include <vector>

namespace recto::simt {
namespace {

constexpr unsigned kBlocks = 64;
constexpr unsigned kThreads = 128;
constexpr int kRounds = 100;

__global__ void do_nothing() {}

__global__ void wait_often(int rounds) {
  for (int i = 0; i < rounds; ++i) __syncthreads();
}

__global__ void shuffle_often(int* out, int rounds) {
  int value = static_cast<int>(threadIdx.x);
  for (int i = 0; i < rounds; ++i) value += __shfl_xor_sync(0xffffffff, value, 1 + i % 31);
  out[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

ExecutorOptions options_of(const benchmark::State& state) {
  return {.os_threads = static_cast<unsigned>(state.range(0))};
}

void set_rate(benchmark::State& state, const char* name, double per_iteration) {
  state.counters[name] = benchmark::Counter(per_iteration * static_cast<double>(state.iterations()),
                                            benchmark::Counter::kIsRate);
}

void thread_blocks(benchmark::State& state) {
  Executor executor(options_of(state));
  for (auto _ : state) launch(executor, {"do_nothing", {kBlocks}, {kThreads}}, do_nothing);
  set_rate(state, "blocks_per_second", kBlocks);
}
BENCHMARK(thread_blocks)->Arg(1)->Arg(2)->UseRealTime();

void barriers(benchmark::State& state) {
  Executor executor(options_of(state));
  for (auto _ : state) {
    launch(executor, {"wait_often", {kBlocks}, {kThreads}}, wait_often, kRounds);
  }
  set_rate(state, "thread_barriers_per_second", kBlocks * kThreads * kRounds);
}
BENCHMARK(barriers)->Arg(1)->Arg(2)->UseRealTime();

void shuffles(benchmark::State& state) {
  Executor executor(options_of(state));
  std::vector<int> out(kBlocks * kThreads);
  for (auto _ : state) {
    launch(executor, {"shuffle_often", {kBlocks}, {kThreads}}, shuffle_often, out.data(), kRounds);
  }
  set_rate(state, "lane_shuffles_per_second", kBlocks * kThreads * kRounds);
}
BENCHMARK(shuffles)->Arg(1)->Arg(2)->UseRealTime();

}  // namespace
}  // namespace recto::simt
