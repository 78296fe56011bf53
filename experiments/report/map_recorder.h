#pragma once

// Follows a run and draws its memory map: pictures of the whole pool at regular times of the run
// and of one minute, and the history of single blocks over a part of the run.

#include "core/status.h"
#include "core/units.h"
#include "experiments/report/memory_map.h"
#include "experiments/support/run_config.h"
#include "sim/metrics/report.h"

namespace recto::experiments {

// Both functions are deterministic, byte for byte, and may be called from several threads. `report`
// is the report of an earlier run of this configuration.

struct MapBegins {
  SimTime detail;      // of the part with single blocks
  SimTime close_look;  // of the minute
};

inline constexpr SimDuration kCloseLookStep(150'000'000);

// Under --manager production single blocks are those of the production manager.
Result<MemoryMap> record_map(const RunConfig& config, const sim::Report& report,
                             const MapBegins& begins);

// The minute from `begin` on; single blocks over the whole run if these are not too many for a
// page, else from `begin` on.
Result<MemoryMap> record_map_whole_or_from(const RunConfig& config, const sim::Report& report,
                                           SimTime begin);

}  // namespace recto::experiments
