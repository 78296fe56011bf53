#pragma once

// Runs one configuration.

#include <cstdint>
#include <string>
#include <vector>

#include "core/status.h"
#include "experiments/support/resolved_run.h"
#include "experiments/support/run_config.h"
#include "sim/metrics/report.h"
#include "sim/simulator.h"

namespace recto::experiments {

struct RunOutcome {
  sim::Report report;
  TimeModelFacts time_model;
  std::int64_t window_tokens = 0;     // the sliding window in effect; 0: none
  std::int64_t skipped_rows = 0;      // bad, left out under --on-bad-row skip
  std::int64_t failed_requests = 0;   // recorded in the trace without an answer, left out
  std::vector<std::string> warnings;  // of the trace, a sentence each
};

// Byte for byte the same for equal configurations. Invalid input for what `validate` refuses and
// for bad rows of a trace. May be called from several threads at once; `observer` may be null.
Result<RunOutcome> run(const RunConfig& config, sim::SimulationObserver* observer = nullptr);

}  // namespace recto::experiments
