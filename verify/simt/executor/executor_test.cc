// The executor on correct kernels: it keeps CUDA's promises under every schedule.

#include "verify/simt/executor/executor.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "bazel/testing/catch.h"

#include <kernel_dialect.h>

namespace recto::simt {
namespace {

// All orders of threads, on one OS thread and on two.
std::vector<ExecutorOptions> all_schedules() {
  std::vector<ExecutorOptions> all;
  for (const SchedulePolicy policy : kSchedulePolicies) {
    for (const std::uint64_t seed : {1, 2, 3}) {
      for (const unsigned os_threads : {1U, 2U}) {
        all.push_back({.schedule = {.policy = policy, .seed = seed}, .os_threads = os_threads});
      }
    }
  }
  return all;
}

__global__ void note_indices(dim3* thread, dim3* block) {
  const unsigned long long block_linear =
      blockIdx.x + gridDim.x * (blockIdx.y + std::uint64_t{gridDim.y} * blockIdx.z);
  const unsigned long long linear = threadIdx.x +
                                    blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z) +
                                    block_linear * blockDim.x * blockDim.y * blockDim.z;
  thread[linear] = threadIdx;
  block[linear] = blockIdx;
}

TEST_CASE("every thread of a three-dimensional grid runs once, with its own indices") {
  const Dim3 grid{3, 2, 2};
  const Dim3 block{5, 3, 2};
  for (const ExecutorOptions& options : all_schedules()) {
    Executor executor(options);
    std::vector<Dim3> threads(grid.count() * block.count(), Dim3{99, 99, 99});
    std::vector<Dim3> blocks = threads;
    const LaunchReport report = launch(executor, {"note_indices", grid, block}, note_indices,
                                       threads.data(), blocks.data());
    CHECK(report.text().empty());
    for (std::uint64_t i = 0; i < threads.size(); ++i) {
      CHECK(threads[i] == index_in(block, i % block.count()));
      CHECK(blocks[i] == index_in(grid, i / block.count()));
    }
  }
}

// A tree over shared memory, with a barrier at each level.
__global__ void sum_in_shared(const float* in, float* out) {
  KERNEL_SHARED(float, parts, [128]);
  parts[threadIdx.x] = in[blockIdx.x * blockDim.x + threadIdx.x];
  __syncthreads();
  for (unsigned width = blockDim.x / 2; width > 0; width /= 2) {
    if (threadIdx.x < width) parts[threadIdx.x] += parts[threadIdx.x + width];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = parts[0];
}

__global__ void sum_by_shuffles(const float* in, float* out) {
  KERNEL_SHARED(float, of_warp, [4]);
  float sum = in[blockIdx.x * blockDim.x + threadIdx.x];
  for (int bit = 16; bit > 0; bit /= 2) sum += __shfl_xor_sync(0xffffffff, sum, bit);
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = of_warp[0] + of_warp[1] + of_warp[2] + of_warp[3];
}

TEST_CASE("sums over shared memory and over shuffles are right under every schedule") {
  constexpr unsigned kBlocks = 9;
  std::vector<float> in(kBlocks * 128);
  std::iota(in.begin(), in.end(), 1.0F);
  for (const auto kernel : {sum_in_shared, sum_by_shuffles}) {
    for (const ExecutorOptions& options : all_schedules()) {
      Executor executor(options);
      std::vector<float> out(kBlocks);
      const LaunchReport report =
          launch(executor, {"sum", {kBlocks}, {128}}, kernel, in.data(), out.data());
      CHECK(report.text().empty());
      for (unsigned block = 0; block < kBlocks; ++block) {
        CHECK(out[block] == 128.0F * (128.0F * static_cast<float>(block) + 64.5F));
      }
    }
  }
}

__global__ void reduce_predicates(int* out) {
  const int count = __syncthreads_count(threadIdx.x % 3 == 0);
  const int all = __syncthreads_and(threadIdx.x < 70);
  const int not_all = __syncthreads_and(threadIdx.x < 69);
  const int any = __syncthreads_or(threadIdx.x == 69);
  const int none = __syncthreads_or(threadIdx.x == 70);
  if (threadIdx.x == 17) {
    out[0] = count;
    out[1] = all;
    out[2] = not_all;
    out[3] = any;
    out[4] = none;
  }
}

TEST_CASE("barriers reduce predicates over a block whose last warp is not full") {
  for (const ExecutorOptions& options : all_schedules()) {
    Executor executor(options);
    std::vector<int> out(5);
    CHECK(launch(executor, {"reduce_predicates", {1}, {70}}, reduce_predicates, out.data())
              .text()
              .empty());
    CHECK(out == std::vector<int>{24, 1, 0, 1, 0});
  }
}

__global__ void count_blocks(unsigned* count, unsigned* seen) {
  atomicAdd(count, 1U);
  grid_barrier();
  seen[blockIdx.x * blockDim.x + threadIdx.x] = *count;
}

TEST_CASE("all threads see all writes after the barrier of a cooperative grid") {
  for (const ExecutorOptions& options : all_schedules()) {
    Executor executor(options);
    unsigned count = 0;
    std::vector<unsigned> seen(6 * 40);
    const LaunchConfig config{
        .kernel = "count_blocks", .grid = {6}, .block = {40}, .is_cooperative = true};
    CHECK(launch(executor, config, count_blocks, &count, seen.data()).text().empty());
    CHECK(std::ranges::count(seen, 240U) == 240);
  }
}

__global__ void show_shared(float* out, int dynamic_count) {
  KERNEL_DYNAMIC_SHARED(float, dynamic);
  KERNEL_SHARED(float, one, [3]);
  KERNEL_SHARED(double, other, [2][2]);
  if (threadIdx.x == 0) {
    for (int i = 0; i < dynamic_count; ++i) out[i] = dynamic[i];
    out[dynamic_count] = one[0] + one[2];
    out[dynamic_count + 1] = static_cast<float>(other[1][1]);
  }
  __syncthreads();
  dynamic[threadIdx.x] = one[threadIdx.x % 3] = 1.0F;
  other[threadIdx.x % 2][0] = 2.0;
}

TEST_CASE("shared memory is NaN at the start of every block") {
  Executor executor({});
  std::vector<float> out(2 * 10);
  CHECK(launch(executor, {"show_shared", {2}, {8}, 8 * sizeof(float)}, show_shared, out.data(), 8)
            .text()
            .empty());
  CHECK(std::ranges::count_if(out, [](float value) { return std::isnan(value); }) == 10);
}

__global__ void note_order(unsigned* order, unsigned* next) {
  __syncthreads();
  order[atomicAdd(next, 1U)] = threadIdx.x;
}

std::vector<unsigned> order_of_threads(const Schedule& schedule) {
  Executor executor({.schedule = schedule});
  std::vector<unsigned> order(96);
  unsigned next = 0;
  CHECK(
      launch(executor, {"note_order", {1}, {96}}, note_order, order.data(), &next).text().empty());
  return order;
}

TEST_CASE("a schedule has the order of its name, and the same order for the same seed") {
  std::vector<unsigned> ascending(96);
  std::iota(ascending.begin(), ascending.end(), 0U);
  std::vector<unsigned> descending(ascending.rbegin(), ascending.rend());
  // The last thread in order arrives last, so the first thread in order continues first.
  CHECK(order_of_threads({SchedulePolicy::kInOrder}) == ascending);
  CHECK(order_of_threads({SchedulePolicy::kReverse}) == descending);
  for (const SchedulePolicy policy : {SchedulePolicy::kRandomWarp, SchedulePolicy::kRandomThread}) {
    const std::vector<unsigned> one = order_of_threads({policy, 1});
    CHECK(one == order_of_threads({policy, 1}));
    CHECK(one != order_of_threads({policy, 2}));
    CHECK(one != ascending);
    CHECK(std::is_permutation(one.begin(), one.end(), ascending.begin()));
  }
}

TEST_CASE("thread blocks start in an order of the schedule, each once") {
  const ExecutorOptions options{.schedule = {SchedulePolicy::kRandomThread, 5}};
  for (const unsigned count : {1U, 2U, 7U, 12U, 1000U}) {
    const LaunchConfig config{.kernel = "any", .grid = {count}, .block = {1}};
    const KernelCall call;
    const Launch launch(config, call, options, nullptr);
    std::vector<bool> started(count);
    for (unsigned order = 0; order < count; ++order) started[launch.block_at(order)] = true;
    CHECK(std::ranges::count(started, true) == count);
  }
}

// Whether `count` thread blocks run concurrently, which thread blocks of one OS thread do not.
__global__ void meet_blocks(std::atomic<unsigned>* running, unsigned count,
                            std::atomic<bool>* met) {
  running->fetch_add(1);
  for (int i = 0; i < 20000 && *running < count; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  if (*running < count) *met = false;
}

TEST_CASE("thread blocks are spread over all of the machine's cores by default") {
  const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
  std::atomic<unsigned> running = 0;
  std::atomic<bool> met = true;
  Executor executor({});
  CHECK(launch(executor, {"meet_blocks", {cores}}, meet_blocks, &running, cores, &met).passed());
  CHECK(running == cores);
  CHECK(met);
}

TEST_CASE("preemption without an observer that preempts is refused, not forgotten") {
  int count = 0;
  const auto count_up = +[](int* out) { ++*out; };
  Executor executor({.schedule = {.preemption_period = 5}});
  const LaunchReport report = launch(executor, {"count_up"}, count_up, &count);
  REQUIRE(report.findings.size() == 1);
  CHECK(report.findings[0].text() ==
        "invalid launch in kernel 'count_up': preemption_period: expected 0 without an observer "
        "that preempts threads at their accesses, such as AccessChecker, got 5");
  CHECK(count == 0);
  executor.set_options({});
  CHECK(launch(executor, {"count_up"}, count_up, &count).passed());
  CHECK(count == 1);
}

TEST_CASE("an executor lists the kernels that it has launched") {
  Executor executor({});
  const auto nothing = +[](int) {};
  for (const char* kernel : {"first", "second", "first"}) launch(executor, {kernel}, nothing, 0);
  CHECK(executor.kernels() == std::vector<std::string>{"first", "second"});
}

}  // namespace
}  // namespace recto::simt
