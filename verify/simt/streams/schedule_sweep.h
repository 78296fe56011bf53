#pragma once

// Runs the same launches under many schedules and compares the memory they write. Results that
// depend on the schedule are wrong, even if each of them is close to the right one.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "verify/simt/executor/executor.h"

namespace recto::simt {

// Every policy with each of `seeds` seeds; the policies without randomness once.
std::vector<Schedule> all_schedules(std::uint64_t seeds);

// The bytes that launches wrote to one buffer.
struct SweptOutput {
  std::string name;  // for messages
  std::size_t element_bytes = 1;
  std::vector<std::byte> bytes;

  friend bool operator==(const SweptOutput&, const SweptOutput&) = default;
};

// One complete run: fresh memory, launches, and then their outputs. All runs must write the same
// buffers.
struct SweptRun {
  LaunchReport report;
  std::vector<SweptOutput> outputs;
};
using SweepProgram = std::function<SweptRun(Executor& executor)>;

struct SweepReport {
  // The distinct findings of all runs, by kind, kernel and line; and a schedule dependence, if
  // outputs differ between runs without other findings.
  std::vector<Finding> findings;
  // For each finding, the first schedule under which it was found. ExecutorOptions with that
  // schedule reproduce it.
  std::vector<Schedule> schedules;
  std::vector<SweptOutput> outputs;  // of the first run

  bool passed() const { return findings.empty(); }
  std::string text() const;  // one finding per line, with its schedule
};

// "random-warp, seed 3, preempted at one access in 5".
std::string schedule_text(const Schedule& schedule);

// Runs `program` once for each schedule, on executors with these options. If a run never ends, its
// policy is not used again. If that run took more than two seconds of CPU time, no further run
// follows, so that a hang costs `stall_seconds` only once.
SweepReport sweep_schedules(const ExecutorOptions& options, std::span<const Schedule> schedules,
                            const SweepProgram& program);

}  // namespace recto::simt
