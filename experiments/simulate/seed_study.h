#pragma once

// The results of one configuration under several seeds, for people and for machines.

#include <string>
#include <vector>

#include "experiments/support/run.h"
#include "experiments/support/run_config.h"

namespace recto::experiments {

// A table of the main figures.
std::string seeds_text(const std::vector<SeedRun>& runs);

// All figures, and each run's report.
Json seeds_json(const std::vector<SeedRun>& runs);

}  // namespace recto::experiments
