#pragma once

// What the rows of a grid do or do not have in common, contrary to what a reader would expect.

#include <span>
#include <string>
#include <vector>

#include "experiments/support/run_config.h"

namespace recto::experiments {

// One sentence per remark, unwrapped; works for a single run too. Leaves out all of `configs` that
// cannot be resolved.
std::vector<std::string> grid_remarks(std::span<const RunConfig> configs);

}  // namespace recto::experiments
