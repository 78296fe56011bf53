#pragma once

#include "experiments/support/run_config.h"
#include "experiments/trace/trace_report.h"

namespace recto::experiments {

// All figures in full precision; shares lie within 0 and 1. `prefix_reuse` is null for a trace
// that does not say what its tokens are.
Json trace_json(const TraceReport& report);

}  // namespace recto::experiments
