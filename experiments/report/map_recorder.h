#pragma once

// Follows a run and draws its memory map: a picture of the whole pool at regular times, and the
// history of single blocks over a part of the run.

#include "core/status.h"
#include "core/units.h"
#include "experiments/report/memory_map.h"
#include "experiments/support/run_config.h"
#include "sim/metrics/report.h"

namespace recto::experiments {

// Both functions are deterministic, byte for byte, and may be called from several threads. `report`
// is the report of an earlier run of this configuration.

// Single blocks from `detail_begin` on. Under --manager production these are the blocks of the
// production manager.
Result<MemoryMap> record_map(const RunConfig& config, const sim::Report& report,
                             SimTime detail_begin);

// Single blocks over the whole run if these are not too many for a page, else from `begin` on.
Result<MemoryMap> record_map_whole_or_from(const RunConfig& config, const sim::Report& report,
                                           SimTime begin);

}  // namespace recto::experiments
