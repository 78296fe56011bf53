#pragma once

// Runs a configuration once more, for the latencies of all requests, of which its report keeps few
// percentiles.

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
  // first token, "tpot": mean gap between later tokens, "end_to_end"}, a value per quantile each;
  // empty where nothing was counted.
  Json latency;
};

// The same, byte for byte, for equal configurations; may be called from several threads.
Result<RecordedRun> run_and_record(const RunConfig& config);

// When the last request ended.
SimTime end_of(const sim::Report& report);

// The time at which a detailed look is worth most: shortly before the queue is longest and, among
// equals, the pool is fullest.
SimTime busiest_moment(const sim::Report& report);

}  // namespace recto::experiments
