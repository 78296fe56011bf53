#pragma once

// Repeats the run of a configuration to get the latencies of all requests, because its report has
// only a few percentiles.

#include <cstdint>
#include <vector>

#include "core/status.h"
#include "core/units.h"
#include "experiments/support/run.h"
#include "experiments/support/run_config.h"

namespace recto::experiments {

// Shares of requests, in thousandths, at which distributions are given.
std::vector<std::int64_t> quantile_per_mille();

struct RecordedRun {
  RunOutcome outcome;
  // Of finished requests, in seconds: {"queueing": arrival to first admission, "ttft": arrival to
  // first token, "tpot": mean gap between later tokens, "end_to_end"}, one value per quantile;
  // empty if no request was counted.
  Json latency;
};

// Deterministic, byte for byte; may be called from several threads.
Result<RecordedRun> run_and_record(const RunConfig& config);

// When the last request ended.
SimTime end_of(const sim::Report& report);

// The most interesting time for details: shortly before the queue is longest and, among equal
// queues, the pool is fullest.
SimTime busiest_moment(const sim::Report& report);

}  // namespace recto::experiments
