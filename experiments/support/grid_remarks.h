#pragma once

// What the rows of a grid have in common, or do not, though a reader would not think so.

#include <span>
#include <string>
#include <vector>

#include "experiments/support/run_config.h"

namespace recto::experiments {

// A sentence each, unwrapped; for a single run too. All of `configs` that cannot be resolved are
// left out.
std::vector<std::string> grid_remarks(std::span<const RunConfig> configs);

}  // namespace recto::experiments
