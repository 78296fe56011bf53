#pragma once

// A picture of the pool at one instant, in rows of equally many slots, made by walking over all
// held blocks.

#include <vector>

#include "experiments/report/memory_map.h"
#include "experiments/report/watched_allocator.h"
#include "sim/metrics/gauges.h"
#include "sim/scheduling/scheduler.h"

namespace recto::experiments {

// The cells of `map.rows` rows. Checks that the states sum to those of `gauges`.
// O(held blocks + blocks of the pool + rows).
std::vector<MapCell> pool_picture(const MemoryMap& map, const WatchedAllocator& allocator,
                                  const sim::Scheduler& scheduler, const sim::GaugeValues& gauges);

}  // namespace recto::experiments
