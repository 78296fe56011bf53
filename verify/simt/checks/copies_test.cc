// The dialect's asynchronous copies under the checks: correct pipelines give no finding.

#include <cstdint>
#include <string>
#include <vector>

#include "verify/simt/checks/checked_run.h"
#include "verify/simt/dialect/testdata/copies_kernels.cuh"

namespace recto::simt {
namespace {

constexpr int kTiles = 5;
constexpr LaunchConfig kOneWarp = {"copies", {1}, {32}};

// Buffers of 32 * kTiles words and of 32 words.
struct WordsRun : CheckedRun {
  using CheckedRun::CheckedRun;
  const unsigned* in = buffer<unsigned>("in", 32 * kTiles, BufferUse::kReadOnly);
  unsigned* out = buffer<unsigned>("out", 32, BufferUse::kWriteFirst);
};

TEST_CASE("copies that are waited for, by their own thread or at mbarriers, are right") {
  for (const SchedulePolicy policy : kSchedulePolicies) {
    for (const auto pipeline : {sum_tiles_by_cp_async, sum_tiles_by_bulk_copies}) {
      WordsRun run({.policy = policy});
      check_nothing(run.run(kOneWarp, pipeline, run.in, kTiles, run.out));
    }
    for (const auto kernel : {wait_before_copy, poll_mbarrier}) {
      WordsRun run({.policy = policy});
      check_nothing(run.run(kOneWarp, kernel, run.in, run.out));
    }
    WordsRun run({.policy = policy});
    check_nothing(run.run(kOneWarp, gather_at_mbarrier, run.out));
  }
}

constexpr LaunchConfig kTwoWarps = {"copies", {1}, {64}};

// All orders of threads.
std::vector<Schedule> schedules() {
  std::vector<Schedule> all;
  for (const SchedulePolicy policy : kSchedulePolicies) {
    for (std::uint64_t seed = 0; seed < 8; ++seed) all.push_back({policy, seed});
  }
  return all;
}

TEST_CASE("a wait for a phase does not order arrivals for the next one") {
  for (const Schedule& schedule : schedules()) {
    WordsRun right(schedule);
    check_nothing(right.run(kTwoWarps, read_after_phase, 0U, right.out));
    WordsRun late(schedule);
    const LaunchReport report = late.run(kTwoWarps, read_after_phase, 1U, late.out);
    // If the reader runs first, it finds the memory unwritten.
    CHECK(contains(report.text(), "shared words+4"));
    if (report.findings.size() == 1) CHECK(report.findings[0].check == Check::kRace);
  }
}

TEST_CASE("a wait for a phase does not order copies that complete in the next one") {
  bool is_race = false;
  for (const Schedule& schedule : schedules()) {
    WordsRun right(schedule);
    check_nothing(right.run(kTwoWarps, read_copy_after_phase, 0U, right.in, right.out));
    WordsRun late(schedule);
    const LaunchReport report = late.run(kTwoWarps, read_copy_after_phase, 1U, late.in, late.out);
    CHECK(contains(report.text(), "reads 4 bytes of shared words+16"));
    is_race = is_race || contains(report.text(), "race in kernel");
  }
  CHECK(is_race);
}

TEST_CASE("a read of a copy's bytes before its wait is found at the kernel's own line") {
  WordsRun run;
  check_finding(run.run(kOneWarp, look_before_waiting, run.in, run.out), Check::kUnfinishedCopy,
                {"copies_kernels.cu:", "reads 4 bytes of shared word+0",
                 "began a copy to it, not yet waited for"});
}

TEST_CASE("a refused copy causes no finding besides its own") {
  const auto fault_of = [](CopyFault fault) {
    WordsRun run;
    return run.run(kOneWarp, copy_wrongly, fault, run.in, run.out);
  };
  check_finding(fault_of(CopyFault::kTooManySourceBytes), Check::kOutOfBounds,
                {"to read 5 bytes: expected at most 4"});
  check_finding(fault_of(CopyFault::kNoBulkWait), Check::kUnfinishedCopy,
                {"exits with an unfinished asynchronous copy"});
  check_finding(fault_of(CopyFault::kTooManyArrivals), Check::kMbarrier,
                {"already has all of its 1 arrivals"});
}

}  // namespace
}  // namespace recto::simt
