// Races: accesses that no barrier orders.

#include <cstdint>
#include <string>

#include "verify/simt/checks/checked_run.h"
#include "verify/simt/checks/testdata/checked_kernels.cuh"

namespace recto::simt {
namespace {

constexpr int kNoBarrier = 0;
constexpr int kWarpBarrier = 1;
constexpr int kBlockBarrier = 2;

std::vector<Schedule> some_schedules() {
  std::vector<Schedule> all;
  for (const SchedulePolicy policy : kSchedulePolicies) {
    for (const std::uint32_t period : {0U, 3U}) {
      all.push_back({.policy = policy, .seed = 7, .preemption_period = period});
    }
  }
  return all;
}

// Runs a kernel in one thread block of `threads`; its second argument makes it right or wrong.
LaunchReport run_with(const Schedule& schedule, unsigned threads, void (*kernel)(float*, int),
                      int argument) {
  CheckedRun run(schedule);
  return run.run({"kernel", {1}, {threads}}, kernel,
                 run.buffer<float>("out", threads, BufferUse::kWriteFirst), argument);
}

TEST_CASE("lanes that exchange through shared memory need a barrier of their warp") {
  for (const Schedule& schedule : some_schedules()) {
    check_nothing(run_with(schedule, 32, exchange_in_warp, kWarpBarrier));
    check_nothing(run_with(schedule, 32, exchange_in_warp, kBlockBarrier));
    const LaunchReport report = run_with(schedule, 32, exchange_in_warp, kNoBarrier);
    REQUIRE(report.findings.size() >= 1);
    CHECK(contains(report.text(), "shared slots+"));
  }
  // In order, thread 0 first reads memory that is not written yet; then others write where it has
  // read.
  const LaunchReport report = run_with({}, 32, exchange_in_warp, kNoBarrier);
  REQUIRE(report.findings.size() == 3);
  CHECK(report.findings[0].check == Check::kUninitialised);
  CHECK(contains(report.findings[1].text(), "race in kernel 'kernel'"));
}

TEST_CASE("a shuffle orders no memory") {
  for (const Schedule& schedule : some_schedules()) {
    check_nothing(run_with(schedule, 32, exchange_by_shuffle, kWarpBarrier));
  }
  const auto line = [](int number) { return "checked_kernels.cu:" + std::to_string(number) + ":"; };
  check_finding(
      run_with({}, 32, exchange_by_shuffle, kNoBarrier), Check::kRace,
      {line(kLineOfExchangeByShuffle + 3) + " thread 31 (warp 0, lane 31) of block (0, 0, "
                                            "0) reads 4 bytes of shared slots+0; ",
       line(kLineOfExchangeByShuffle) + " thread 0 (warp 0, lane 0) of block (0, 0, 0) "
                                        "wrote it, with no __syncwarp"});
}

TEST_CASE("warps that exchange through shared memory need a barrier of their block") {
  for (const Schedule& schedule : some_schedules()) {
    check_nothing(run_with(schedule, 64, exchange_in_block, kBlockBarrier));
  }
  check_among(run_with({}, 64, exchange_in_block, kWarpBarrier), Check::kRace,
              {"writes 4 bytes of shared slots+128", "thread 31 ",
               "read it, with no __syncthreads in between"});
}

TEST_CASE("memory that other threads may still read is overwritten only after a barrier") {
  for (const Schedule& schedule : some_schedules()) {
    check_nothing(run_with(schedule, 64, reuse_shared, kBlockBarrier));
    check_nothing(run_with(schedule, 32, exchange_twice, kWarpBarrier));
  }
  check_among(run_with({}, 64, reuse_shared, kNoBarrier), Check::kRace,
              {"reads 4 bytes of shared shared+0", "thread 0 (warp 0, lane 0)", "wrote it"});
  check_among(run_with({.policy = SchedulePolicy::kReverse}, 64, reuse_shared, kNoBarrier),
              Check::kRace, {"thread 0 ", "writes 4 bytes of shared shared+0", "read it"});
  check_among(run_with({}, 32, exchange_twice, kNoBarrier), Check::kRace,
              {"writes 4 bytes of shared slots+", "read it"});
}

TEST_CASE("barriers of half a warp order that half") {
  for (const Schedule& schedule : some_schedules()) {
    CheckedRun run(schedule);
    check_nothing(run.run({"halves", {1}, {32}}, exchange_in_half_warps,
                          run.buffer<float>("out", 32, BufferUse::kWriteFirst), 0xffffffffU));
  }
}

TEST_CASE("halves and bytes of a word are memory of their own") {
  CheckedRun run;
  auto* halves = run.buffer<std::uint16_t>("halves", 65, BufferUse::kReadWrite);
  auto* bytes = run.buffer<std::uint8_t>("bytes", 65, BufferUse::kReadWrite);
  check_nothing(run.run({"halves", {1}, {64}}, own_halves, halves, 0));
  check_nothing(run.run({"bytes", {1}, {64}}, own_bytes, bytes, 0));
  check_finding(run.run({"halves", {1}, {64}}, own_halves, halves, 1), Check::kRace,
                {"writes 2 bytes of halves+", "wrote it"});
  check_finding(run.run({"bytes", {1}, {64}}, own_bytes, bytes, 1), Check::kRace,
                {"writes 1 byte of bytes+", "wrote it"});
  auto* words = run.buffer<std::uint32_t>("words", 2, BufferUse::kReadWrite);
  check_nothing(run.run({"words", {1}, {64}}, own_halves_of_words, words, 1));
  check_finding(run.run({"words", {1}, {64}}, own_halves_of_words, words, 0), Check::kRace,
                {"thread 1 ", "writes 2 bytes of words+2", "thread 0 "});
}

TEST_CASE("atomic operations do not race with each other, but with plain accesses") {
  for (const Schedule& schedule : some_schedules()) {
    CheckedRun run(schedule);
    auto* count = run.buffer<int>("count", 1, BufferUse::kReadWrite);
    check_nothing(run.run({"count", {4}, {64}}, count_up, count, 1));
    CHECK(*count == 256);
    check_nothing(run.run({"count", {1}, {64}}, count_up_in_shared,
                          run.buffer<int>("out", 64, BufferUse::kWriteFirst), 1));
  }
  for (const int kind : {0, 2}) {
    CheckedRun run;
    auto* count = run.buffer<int>("count", 1, BufferUse::kReadWrite);
    const LaunchReport in_block = run.run({"count", {1}, {64}}, count_up, count, kind);
    REQUIRE(!in_block.passed());
    CHECK(in_block.findings[0].check == Check::kRace);
    CHECK(contains(in_block.text(), kind == 0 ? "wrote it" : "atomically updated it"));
    const LaunchReport in_grid = run.run({"count", {64}, {1}}, count_up, count, kind);
    REQUIRE(!in_grid.passed());
    CHECK(in_grid.findings[0].check == Check::kGridRace);
    auto* out = run.buffer<int>("out", 64, BufferUse::kWriteFirst);
    CHECK(!run.run({"count", {1}, {64}}, count_up_in_shared, out, kind).passed());
  }
}

TEST_CASE("thread blocks that write to one place race, whatever their order") {
  for (const Schedule& schedule : some_schedules()) {
    CheckedRun run(schedule);
    auto* out = run.buffer<float>("out", 4 * 32, BufferUse::kReadWrite);
    const LaunchConfig config = {"write", {4}, {32}};
    check_nothing(run.run(config, write_by_blocks, out, 32));
    check_finding(run.run(config, write_by_blocks, out, 0), Check::kGridRace,
                  {"race between thread blocks in kernel 'write'", "writes 4 bytes of out+",
                   "wrote it; thread blocks of one launch are ordered only by grid barriers"});
    // The next launch is ordered after this one.
    check_nothing(run.run(config, write_by_blocks, out, 32));
  }
}

TEST_CASE("a grid barrier orders the data that thread blocks hand over") {
  for (const Schedule& schedule : some_schedules()) {
    CheckedRun cooperative(schedule);
    auto* shared_data = cooperative.buffer<float>("data", 8, BufferUse::kReadWrite);
    auto* result = cooperative.buffer<float>("out", 8, BufferUse::kWriteFirst);
    const LaunchConfig config = {"grid", {8}, {1}, 0, true};
    check_nothing(cooperative.run(config, hand_over_at_grid_barrier, shared_data, result, 1));
    check_nothing(cooperative.run(config, hand_over_at_grid_barrier, shared_data, result, 1));
    const LaunchReport report =
        cooperative.run(config, hand_over_at_grid_barrier, shared_data, result, 0);
    REQUIRE(!report.passed());
    for (const Finding& finding : report.findings) CHECK(finding.check == Check::kGridRace);
  }
}

TEST_CASE("an object that is released and acquired orders what came before the release") {
  check_nothing(run_with({}, 64, hand_over_by_object, 1));
  check_finding(run_with({}, 64, hand_over_by_object, 0), Check::kRace,
                {"thread 32 ", "reads 4 bytes of shared data+0", "thread 0 ", "wrote it"});
  check_finding(run_with({}, 64, hand_over_by_object, 2), Check::kRace,
                {"thread 32 ", "reads 4 bytes of shared data+4", "thread 0 ", "wrote it"});
}

TEST_CASE("the same seed gives the same findings, with preemption too") {
  for (const Schedule& schedule : some_schedules()) {
    const auto text_of = [&schedule] {
      CheckedRun run(schedule);
      auto* count = run.buffer<int>("count", 1, BufferUse::kReadWrite);
      LaunchReport report = run.run({"count", {3}, {64}}, count_up, count, 2);
      CHECK(!report.passed());
      return report.text() + std::to_string(report.switches) + " " + std::to_string(*count);
    };
    CHECK(text_of() == text_of());
  }
}

TEST_CASE("threads that wait for each other without barriers run on, preempted or not") {
  for (const std::uint32_t period : {0U, 20U}) {
    for (const SchedulePolicy policy : kSchedulePolicies) {
      CheckedRun run({.policy = policy, .preemption_period = period}, {.accesses_max = 40000});
      auto* turns = run.buffer<int>("turns", 1, BufferUse::kReadWrite);
      auto* out = run.buffer<int>("out", 8, BufferUse::kWriteFirst);
      check_nothing(run.run({"baton", {1}, {8}}, pass_baton, turns, out));
      CHECK(out[7] == 7);
    }
  }
}

}  // namespace
}  // namespace recto::simt
