#pragma once

// One run for people to read; lines of at most 100 columns.

#include <string>

#include "experiments/support/command.h"
#include "experiments/support/resolved_run.h"
#include "experiments/support/run.h"

namespace recto::experiments {

std::string summary_text(const ResolvedRun& run, const RunOutcome& outcome,
                         const Terminal& terminal);

// What is simulated: workload, model, card, pool, allocator.
std::string setting_text(const ResolvedRun& run, const sim::Report& report);

}  // namespace recto::experiments
