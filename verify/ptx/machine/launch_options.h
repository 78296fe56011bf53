#pragma once

// How a kernel is launched, and what a launch reports.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "verify/ptx/arithmetic/approximation.h"
#include "verify/ptx/arithmetic/matrix_product.h"
#include "verify/ptx/lanes/step.h"
#include "verify/ptx/machine/finding.h"
#include "verify/simt/executor/schedule.h"

namespace recto::ptx {

using simt::Schedule;
using simt::SchedulePolicy;

// Checks beside bounds, alignment and barriers, which are always on.
struct Checks {
  bool races = false;
  bool uninitialised_memory = false;
  bool undefined_registers = false;

  static constexpr Checks all() { return {true, true, true}; }
  bool records_accesses() const { return races || uninitialised_memory; }
};

struct LaunchOptions {
  Checks checks = {};
  Schedule schedule = {};
  SumModel matrix_sums = {};  // of mma and wgmma
  // Results of approximate instructions: the most accurate, or off by up to their documented
  // errors, in a way that the seed chooses.
  Approximation approximation = Approximation::kAccurate;
  std::uint32_t approximation_seed = 0;
  // Steps of a thread block before it is considered to never end; those that are not straight-line
  // arithmetic count.
  std::uint64_t steps_max = std::uint64_t{1} << 32;
  bool is_cooperative = false;  // all thread blocks run side by side
  bool counts = false;          // fills LaunchReport::counters
  // Threads of a thread block may store to one place in one instruction, as Triton's kernels do
  // where warps hold the same numbers. Stores of one warp must be equal.
  bool allows_equal_stores = false;
  std::size_t findings_max = 16;  // distinct ones
};

struct Counters {
  std::uint64_t instructions = 0;  // of warps
  std::array<std::uint64_t, static_cast<std::size_t>(Action::kCount)> by_action = {};
  std::uint64_t global_sectors = 0;  // of 32 bytes, that loads and stores of a warp touch
  std::uint64_t global_bytes = 0;    // that their lanes asked for
  std::uint64_t bank_conflicts = 0;  // passes over shared memory beyond the first
};

struct LaunchReport {
  std::vector<Finding> findings = {};  // distinct ones, in the order in which they were seen
  Counters counters = {};
  std::string printed = {};  // by printf

  bool passed() const { return findings.empty(); }
  std::string text() const;  // a line for each finding
};

struct LaunchShape {
  Dim3 grid = {};
  Dim3 block = {};
  std::size_t dynamic_shared_bytes = 0;
  Dim3 cluster = {};  // thread blocks that share shared memory; a kernel may have its own
};

}  // namespace recto::ptx
