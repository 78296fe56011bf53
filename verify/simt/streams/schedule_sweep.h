#pragma once

// Runs the same launches under many schedules and compares what they leave in memory: results that
// depend on the schedule are wrong, though each of them may be near the right one.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "verify/simt/executor/executor.h"

namespace recto::simt {

// Every policy with each of `seeds` seeds, the policies without randomness once.
std::vector<Schedule> all_schedules(std::uint64_t seeds);

// What launches wrote to one buffer.
struct SweptOutput {
  std::string name;  // for messages
  std::size_t element_bytes = 1;
  std::vector<std::byte> bytes;

  friend bool operator==(const SweptOutput&, const SweptOutput&) = default;
};

// One run from the beginning: fresh memory, launches, and then what they wrote, in all runs to the
// same buffers.
struct SweptRun {
  LaunchReport report;
  std::vector<SweptOutput> outputs;
};
using SweepProgram = std::function<SweptRun(Executor& executor)>;

struct SweepReport {
  // Of all runs, each different one once, by kind, kernel and line; and a schedule dependence, if
  // outputs differ between runs in which nothing else was found.
  std::vector<Finding> findings;
  // Of the same length: the first schedule under which each was found. ExecutorOptions with it
  // replay it.
  std::vector<Schedule> schedules;
  std::vector<SweptOutput> outputs;  // of the first run

  bool passed() const { return findings.empty(); }
  std::string text() const;  // a line each, with its schedule
};

// "random-warp, seed 3, preempted at one access in 5".
std::string schedule_text(const Schedule& schedule);

// `program` runs once for each schedule, on executors with these options otherwise. A policy under
// which it never ended is not run again; and nothing is, if that took more than two seconds of the
// processor: so a hang costs `stall_seconds` once.
SweepReport sweep_schedules(const ExecutorOptions& options, std::span<const Schedule> schedules,
                            const SweepProgram& program);

}  // namespace recto::simt
