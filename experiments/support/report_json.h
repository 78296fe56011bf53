#pragma once

// Reports for machines: every field, keys always in the same order.

#include <string>
#include <utility>
#include <vector>

#include "experiments/support/figures.h"
#include "experiments/support/run.h"
#include "experiments/support/run_config.h"
#include "sim/metrics/report.h"

namespace recto::experiments {

// Times are nanoseconds, sizes slots, unless the key says otherwise. `series` has an array per
// column.
Json to_json(const sim::Report& report);
Json to_json(const Figures& figures);

// How many requests were rejected, and which: ids of the first sim::kRejectedIdsMax at most.
Json rejected_json(const sim::Report& report);

// Report and figures, and what was left out of a trace.
Json to_json(const RunOutcome& outcome, const Figures& figures);

// Names and values of all numbers and texts in `json`, in its order, for CSV columns: the keys on
// the way to each, joined by dots. Arrays are left out; null is an empty text.
std::vector<std::pair<std::string, std::string>> flatten(const Json& json);

}  // namespace recto::experiments
