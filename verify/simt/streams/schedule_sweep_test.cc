#include "verify/simt/streams/schedule_sweep.h"

#include <cstddef>

#include "bazel/testing/catch.h"
#include "verify/simt/streams/stream.h"

#include <kernel_dialect.h>

namespace recto::simt {
namespace {

// Adds in the order in which threads happen to come.
__global__ void add_in_any_order(float* sum) {
  atomicAdd(sum, 1.0F / static_cast<float>(threadIdx.x + 3));
}

__global__ void add_in_order(float* sum) {
  for (unsigned thread = 0; thread < blockDim.x; ++thread) {
    if (threadIdx.x == thread) *sum += 1.0F / static_cast<float>(thread + 3);
    __syncthreads();
  }
}

__global__ void fill_first(float* sums) { sums[0] = 1.0F; }

__global__ void wait_in_branch() {
  if (threadIdx.x < 7) __syncthreads();
}

SweepProgram program_of(void (*kernel)(float*)) {
  return [kernel](Executor& executor) {
    float sums[3] = {};
    const auto* bytes = reinterpret_cast<const std::byte*>(sums);
    SweptRun run;
    run.report = launch(executor, {"fill", {1}, {1}}, fill_first, sums);
    run.report = launch(executor, {"add", {1}, {64}}, kernel, sums + 2);
    run.outputs.push_back({"first", sizeof(float), {bytes, bytes + sizeof(float)}});
    run.outputs.push_back({"sums", sizeof(float), {bytes + sizeof(float), bytes + sizeof sums}});
    return run;
  };
}

TEST_CASE("a sum whose last bits depend on the schedule is told with two schedules that differ") {
  const std::vector<Schedule> schedules = all_schedules(4);
  const SweepReport report = sweep_schedules({}, schedules, program_of(add_in_any_order));
  REQUIRE(report.findings.size() == 1);
  CHECK(report.findings[0].check == Check::kScheduleDependence);
  CHECK_THAT(report.findings[0].text(),
             Catch::Matchers::StartsWith(
                 "schedule dependence in kernel 'fill', 'add': element 1 (of 4 bytes) of sums "
                 "differs between the schedules {in-order, seed 0} and {"));
  CHECK(sweep_schedules({}, schedules, program_of(add_in_order)).findings.empty());
}

TEST_CASE("the same finding under many schedules is told once") {
  const SweepReport report = sweep_schedules({}, all_schedules(4), [](Executor& executor) {
    return SweptRun{launch(executor, {"wait_in_branch", {1}, {32}}, wait_in_branch), {}};
  });
  REQUIRE(report.findings.size() == 1);
  CHECK(report.findings[0].check == Check::kExitBeforeBarrier);
}

TEST_CASE("all schedules are all policies, the random ones with every seed") {
  CHECK(all_schedules(1).size() == 4);
  CHECK(all_schedules(16).size() == 34);
}

}  // namespace
}  // namespace recto::simt
