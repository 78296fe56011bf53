// The order that fences and atomic operations establish, within a thread block and across blocks.

#include <cstdint>
#include <string>
#include <vector>

#include "verify/simt/checks/checked_run.h"
#include "verify/simt/checks/testdata/fence_kernels.cuh"

namespace recto::simt {
namespace {

std::vector<Schedule> some_schedules() {
  std::vector<Schedule> all;
  for (const SchedulePolicy policy : kSchedulePolicies) {
    for (const std::uint32_t period : {0U, 3U}) {
      all.push_back({.policy = policy, .seed = 7, .preemption_period = period});
    }
  }
  return all;
}

constexpr unsigned kBlocks = 4;
constexpr unsigned kThreads = 64;

LaunchReport add_parts(const Schedule& schedule, Handover handover, int times = 1) {
  CheckedRun run(schedule);
  auto* parts = run.buffer<float>("parts", kBlocks * kThreads, BufferUse::kWriteFirst);
  auto* counter = run.buffer<int>("counter", 1, BufferUse::kReadWrite);
  auto* out = run.buffer<float>("out", kThreads, BufferUse::kWriteFirst);
  LaunchReport report;
  for (int i = 0; i < times; ++i) {
    report =
        run.run({"add", {kBlocks}, {kThreads}}, add_in_last_block, parts, counter, out, handover);
    CHECK(*counter == 0);
    CHECK(out[kThreads - 1] == float{kBlocks});
  }
  return report;
}

TEST_CASE("the last thread block to arrive may merge what all have written before fences") {
  for (const Schedule& schedule : some_schedules()) {
    check_nothing(add_parts(schedule, Handover::kByOneThread, 3));
    check_nothing(add_parts(schedule, Handover::kByAllThreads, 3));
  }
}

TEST_CASE("merging without one of the fences, or the barrier before it, is a race") {
  for (const Schedule& schedule : some_schedules()) {
    for (const Handover handover :
         {Handover::kNoFenceBefore, Handover::kNoFenceAfter, Handover::kFenceOfBlock,
          Handover::kNoBarrier, Handover::kLateWrite}) {
      INFO("handover " << static_cast<int>(handover));
      const LaunchReport report = add_parts(schedule, handover);
      REQUIRE(!report.passed());
      for (const Finding& finding : report.findings) CHECK(finding.check == Check::kGridRace);
      CHECK(contains(report.text(), "reads 4 bytes of parts+"));
    }
  }
  check_finding(
      add_parts({}, Handover::kLateWrite), Check::kGridRace,
      {"thread 0 (warp 0, lane 0) of block (3, 0, 0) reads 4 bytes of parts+0",
       "wrote it; thread blocks of one launch are ordered only by grid barriers, or by atomic "
       "operations on one address with __threadfence() before the first and after the second (if "
       "they are ordered otherwise, mark the buffer with blocks_communicate)"});
  // Thread 0's own writes come before its fence; those of other threads need not.
  check_finding(add_parts({}, Handover::kNoBarrier), Check::kGridRace,
                {"thread 1 (warp 0, lane 1) of block (3, 0, 0) reads 4 bytes of parts+4",
                 "thread 1 (warp 0, lane 1) of block (0, 0, 0) wrote it"});
}

// Flags, data and a result.
LaunchReport hand_over(void (*kernel)(float*, int*, float*, int), unsigned blocks, unsigned threads,
                       int argument) {
  CheckedRun run;
  auto* data = run.buffer<float>("data", 1, BufferUse::kReadWrite);
  auto* flags = run.buffer<int>("flags", 2, BufferUse::kReadWrite);
  auto* out = run.buffer<float>("out", 1, BufferUse::kWriteFirst);
  LaunchReport report = run.run({"hand", {blocks}, {threads}}, kernel, data, flags, out, argument);
  CHECK(out[0] == 3.0F);
  return report;
}

TEST_CASE("a flag hands data only to the thread blocks that read it") {
  check_nothing(hand_over(hand_over_by_flag, 2, 1, 0));
  check_finding(hand_over(hand_over_by_flag, 2, 1, 1), Check::kGridRace,
                {"of block (1, 0, 0) reads 4 bytes of data+0", "of block (0, 0, 0) wrote it"});
}

TEST_CASE("data that one thread block hands over can be handed on by the next") {
  check_nothing(hand_over(hand_on_by_flags, 3, 1, 1));
  check_finding(hand_over(hand_on_by_flags, 3, 1, 0), Check::kGridRace,
                {"of block (2, 0, 0) reads 4 bytes of data+0", "of block (0, 0, 0) wrote it"});
}

TEST_CASE("warps of a thread block hand over by fences, too") {
  check_nothing(hand_over(hand_over_in_block, 1, 64, 1));
  check_finding(hand_over(hand_over_in_block, 1, 64, 0), Check::kRace,
                {"thread 32 ", "reads 4 bytes of data+0", "thread 0 "});
}

TEST_CASE("a flag without atomic accesses races, unless its buffers are marked as communicating") {
  for (const bool is_told : {false, true}) {
    CheckedRun run;
    auto* data = run.buffer<float>("data", 1, BufferUse::kReadWrite);
    auto* flag = run.buffer<int>("flag", 1, BufferUse::kReadWrite);
    auto* out = run.buffer<float>("out", 1, BufferUse::kWriteFirst);
    const LaunchConfig config = {"hand", {2}, {1}};
    if (!is_told) {
      const LaunchReport report = run.run(config, hand_over_by_volatile, data, flag, out);
      check_among(report, Check::kGridRace, {"reads 4 bytes of data+0"});
      check_among(report, Check::kGridRace, {"reads 4 bytes of flag+0"});
      continue;
    }
    for (const void* marked : {static_cast<const void*>(data), static_cast<const void*>(flag)}) {
      Buffer told = run.memory().buffers().at(reinterpret_cast<std::uintptr_t>(marked));
      REQUIRE(run.memory().remove(marked));
      told.blocks_communicate = true;
      REQUIRE(run.memory().add(told).is_ok());
    }
    check_nothing(run.run(config, hand_over_by_volatile, data, flag, out));
  }
}

}  // namespace
}  // namespace recto::simt
