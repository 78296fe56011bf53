#include "verify/simt/streams/schedule_sweep.h"

#include <cstddef>
#include <ctime>
#include <string>
#include <utility>

#include "bazel/testing/catch.h"
#include "verify/simt/streams/stream.h"

#include <kernel_dialect.h>

namespace recto::simt {
namespace {

// Adds in the order in which threads run.
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

TEST_CASE("a sum whose last bits depend on the schedule is reported with two such schedules") {
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

TEST_CASE("the same finding under many schedules is reported once") {
  const SweepReport report = sweep_schedules({}, all_schedules(4), [](Executor& executor) {
    return SweptRun{launch(executor, {"wait_in_branch", {1}, {32}}, wait_in_branch), {}};
  });
  REQUIRE(report.findings.size() == 1);
  CHECK(report.findings[0].check == Check::kExitBeforeBarrier);
}

// Thread 0 must be the first.
__global__ void come_first(int* first, int is_waited_for) {
  atomicCAS(first, 0, static_cast<int>(threadIdx.x) + 1);
  __syncthreads();
  if (*first != 1) {
    while (is_waited_for != 0 && atomicAdd(first, 0) != 1) {
    }
    __trap();
  }
}

SweepReport sweep_come_first(int is_waited_for, int& runs) {
  return sweep_schedules({.switches_max = 10000}, all_schedules(4), [&](Executor& executor) {
    ++runs;
    int first = 0;
    return SweptRun{launch(executor, {"come_first", {1}, {64}}, come_first, &first, is_waited_for),
                    {}};
  });
}

TEST_CASE("a finding comes with a schedule that replays it") {
  int runs = 0;
  const SweepReport report = sweep_come_first(0, runs);
  CHECK(runs == 10);
  REQUIRE(report.findings.size() == 1);
  REQUIRE(report.schedules.size() == 1);
  CHECK(report.schedules[0].policy == SchedulePolicy::kReverse);
  CHECK(report.text() == report.findings[0].text() + " (found under {reverse, seed 0})\n");
  Executor executor({.schedule = report.schedules[0]});
  int first = 0;
  const LaunchReport again = launch(executor, {"come_first", {1}, {64}}, come_first, &first, 0);
  CHECK(again.text() == report.findings[0].text() + "\n");
  CHECK(schedule_text({SchedulePolicy::kRandomWarp, 3, 5}) ==
        "random-warp, seed 3, preempted at one access in 5");
}

TEST_CASE("the same line in two kernels is two findings, however often each is found") {
  const SweepReport report = sweep_schedules({}, all_schedules(2), [](Executor&) {
    SweptRun run;
    for (const unsigned number : {0U, 1U, 2U, 3U}) {
      run.report.findings.push_back({.check = Check::kRace,
                                     .kernel = number % 2 == 0 ? "even" : "odd",
                                     .thread = ThreadPlace{.linear = number},
                                     .place = {.site = {"a.cu", 7}}});
    }
    return run;
  });
  REQUIRE(report.findings.size() == 2);
  CHECK(report.findings[0].kernel == "even");
  CHECK(report.findings[1].kernel == "odd");
}

TEST_CASE("a policy under which a run never ended is not run again") {
  int runs = 0;
  const SweepReport report = sweep_come_first(1, runs);
  REQUIRE(report.findings.size() == 1);
  CHECK(report.findings[0].check == Check::kNeverEnds);
  // In order the kernel ends; in reverse order it does not; and neither random policy makes thread
  // 0 the first in all of its four runs.
  CHECK(runs < 10);
  CHECK(runs >= 4);
}

TEST_CASE("a long run that never ended ends the sweep, and the report says so") {
  int runs = 0;
  const SweepReport report = sweep_schedules({}, all_schedules(2), [&runs](Executor&) {
    if (++runs == 2) {
      for (const auto begin = std::clock(); std::clock() - begin < 2.1 * CLOCKS_PER_SEC;) {
      }
    }
    SweptRun run;
    run.report.findings.push_back(
        {.check = Check::kNeverEnds, .kernel = std::to_string(runs), .what = "still runs"});
    return run;
  });
  CHECK(runs == 2);
  REQUIRE(report.findings.size() == 2);
  CHECK(report.findings[0].what == "still runs");
  CHECK(report.findings[1].what == "still runs; no further schedule was run");
}

TEST_CASE("threads at two barriers are reported once, whichever came first") {
  const SweepReport report = sweep_schedules({}, all_schedules(2), [](Executor&) {
    SweptRun run;
    for (const auto& [line, other] : {std::pair(7, 9), std::pair(9, 7), std::pair(7, 8)}) {
      run.report.findings.push_back({.check = Check::kBarrierDivergence,
                                     .kernel = "branch",
                                     .place = {.site = {"a.cu", line}},
                                     .other_place = {.site = {"a.cu", other}},
                                     .other_what = "is at __syncthreads"});
    }
    return run;
  });
  REQUIRE(report.findings.size() == 2);
  CHECK(report.findings[0].other_place.site.line == 9);
  CHECK(report.findings[1].other_place.site.line == 8);
}

TEST_CASE("a kernel that never ends is reported once, wherever it was stopped") {
  const SweepReport report = sweep_schedules({}, all_schedules(2), [](Executor&) {
    SweptRun run;
    for (const int line : {7, 8}) {
      run.report.findings.push_back(
          {.check = Check::kNeverEnds, .kernel = "spin", .place = {.site = {"a.cu", line}}});
    }
    return run;
  });
  REQUIRE(report.findings.size() == 1);
  CHECK(report.findings[0].place.site.line == 7);
}

TEST_CASE("all schedules are all policies, the random ones with every seed") {
  CHECK(all_schedules(1).size() == 4);
  CHECK(all_schedules(16).size() == 34);
}

}  // namespace
}  // namespace recto::simt
