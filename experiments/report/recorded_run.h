#pragma once

// Runs a configuration once more, for what its report does not keep.

#include "core/status.h"
#include "core/units.h"
#include "experiments/report/latency_quantiles.h"
#include "experiments/report/memory_map.h"
#include "experiments/support/run.h"
#include "experiments/support/run_config.h"

namespace recto::experiments {

struct RecordedRun {
  RunOutcome outcome;
  LatencyQuantiles latency;
};

// Both functions return the same, byte for byte, for equal configurations, and may be called from
// several threads.
Result<RecordedRun> run_and_record(const RunConfig& config);

// The memory map of a run whose report is known; block by block from `detail_begin` on. Blocks are
// those of the simulator's own allocators, even under --manager production.
Result<MemoryMap> record_map(const RunConfig& config, const sim::Report& report,
                             SimTime detail_begin);

// Block by block over the whole run, if that is not too much for a page; or else from `begin` on.
Result<MemoryMap> record_map_whole_or_from(const RunConfig& config, const sim::Report& report,
                                           SimTime begin);

// When the last request ended.
SimTime end_of(const sim::Report& report);

// The time at which a detailed look is worth most: shortly before the queue is longest and, among
// equals, the pool is fullest.
SimTime busiest_moment(const sim::Report& report);

}  // namespace recto::experiments
