#pragma once

#include "experiments/report/memory_map.h"
#include "experiments/support/run_config.h"

namespace recto::experiments {

// For web/map_data.js: columns of numbers packed (packed_numbers.h), times in microseconds.
Json to_json(const MemoryMap& map);

}  // namespace recto::experiments
