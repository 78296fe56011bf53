#pragma once

// One run as terminal output; lines of at most 100 columns.

#include <string>

#include "experiments/support/command.h"
#include "experiments/support/resolved_run.h"
#include "experiments/support/run.h"

namespace recto::experiments {

std::string summary_text(const ResolvedRun& run, const RunOutcome& outcome,
                         const Terminal& terminal);

// The simulated setting: workload, model, card, pool, allocator.
std::string setting_text(const ResolvedRun& run, const sim::Report& report);

}  // namespace recto::experiments
