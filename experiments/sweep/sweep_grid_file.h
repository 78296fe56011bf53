#pragma once

// A grid as a JSON file:
//
//   {"base": {"trace": "azure.csv", "pool_gib": 12},
//    "axes": {"allocator": ["paged", "contiguous-max"], "block_size": [8, 16, 32]},
//    "seeds": 5}
//
// Names are those of support/run_fields.h. Any of the three may be missing.

#include <string>
#include <string_view>

#include "core/status.h"
#include "experiments/sweep/sweep_grid.h"

namespace recto::experiments {

// Invalid input names the file and the line that is not JSON, or the field.
Result<SweepGrid> load_sweep_grid(const std::string& path);

Result<SweepGrid> parse_sweep_grid(std::string_view text);

}  // namespace recto::experiments
