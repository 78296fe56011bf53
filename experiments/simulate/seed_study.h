#pragma once

// What several seeds of one configuration amount to, for people and for machines.

#include <string>
#include <vector>

#include "experiments/support/run_config.h"
#include "experiments/support/seed_runs.h"

namespace recto::experiments {

// A table of the main ones.
std::string seeds_text(const std::vector<SeedRun>& runs);

// All of them, and each run's report.
Json seeds_json(const std::vector<SeedRun>& runs);

}  // namespace recto::experiments
