// Threads of one block that wait for each other through memory, and masks that name other lanes.

#include <array>

#include "bazel/testing/catch.h"
#include "verify/simt/executor/executor.h"

#include <kernel_dialect.h>

namespace recto::simt {
namespace {

// The first warp waits for the second one's word, then all take a lock in turn.
__global__ void wait_within_block(int* flag, int* lock, int* count) {
  if (threadIdx.x < 32) {
    while (atomicAdd(flag, 0) == 0) {
    }
  } else if (threadIdx.x == 32) {
    atomicExch(flag, 1);
  }
  while (atomicCAS(lock, 0, 1) != 0) {
  }
  *count += 1;
  atomicAdd(lock, -1);
}

TEST_CASE("threads of a block may wait for each other by atomic operations") {
  for (const SchedulePolicy policy : kSchedulePolicies) {
    Executor executor({.schedule = {policy, 1}, .stall_seconds = 5});
    int flag = 0;
    int lock = 0;
    int count = 0;
    CHECK(launch(executor, {"wait", {1}, {64}}, wait_within_block, &flag, &lock, &count).text() ==
          "");
    CHECK(count == 64);
  }
}

__global__ void wait_without_end(int* flag) {
  if (threadIdx.x < 40) return;
  while (atomicAdd(flag, 0) == 0) {
  }
}

TEST_CASE("an endless wait on atomic operations is reported with the places of threads") {
  Executor executor({.switches_max = 1000});
  int flag = 0;
  const LaunchReport report = launch(executor, {"wait", {1}, {64}}, wait_without_end, &flag);
  REQUIRE(report.findings.size() == 1);
  CHECK(report.findings[0].check == Check::kNeverEnds);
  CHECK_THAT(report.text(), Catch::Matchers::ContainsSubstring("waiting_test.cc:") &&
                                Catch::Matchers::ContainsSubstring(
                                    "threads 0 to 39: exited, threads 40 to 63: running, last "
                                    "atomic operation at"));
}

__global__ void shuffle_in_half(int* out) {
  if (threadIdx.x % 32 >= 16) return;
  out[threadIdx.x] = __shfl_xor_sync(0xffffffff, static_cast<int>(threadIdx.x), 4);
}

TEST_CASE("a mask may name lanes that have exited, unless that is not allowed") {
  std::array<int, 64> out = {};
  for (const SchedulePolicy policy : kSchedulePolicies) {
    Executor usual({.schedule = {policy, 1}});
    CHECK(launch(usual, {"half", {1}, {40}}, shuffle_in_half, out.data()).text() == "");
    Executor strict({.schedule = {policy, 1}, .allows_exit_before_collective = false});
    const LaunchReport report = launch(strict, {"half", {1}, {40}}, shuffle_in_half, out.data());
    REQUIRE(report.findings.size() == 1);
    CHECK(report.findings[0].check == Check::kWarpMask);
    CHECK_THAT(report.text(),
               Catch::Matchers::ContainsSubstring("calls __shfl_xor_sync with mask 0xffffffff, of "
                                                  "which lanes 0xffff0000 have exited"));
    // Lanes that never existed are not reported.
    CHECK(launch(strict, {"half", {1}, {16}}, shuffle_in_half, out.data()).text() == "");
  }
}

}  // namespace
}  // namespace recto::simt
