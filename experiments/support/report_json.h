#pragma once

// Reports and figures as JSON and as CSV (RFC 4180, lines ended by LF): every field, with keys
// always in the same order.

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "experiments/support/run.h"
#include "experiments/support/run_config.h"
#include "sim/metrics/report.h"

namespace recto::experiments {

// Times are nanoseconds, sizes slots, unless the key says otherwise. `series` has an array per
// column.
Json to_json(const sim::Report& report);
Json to_json(const Figures& figures);

// The number of rejected requests, and the ids of at most the first sim::kRejectedIdsMax.
Json rejected_json(const sim::Report& report);

// Report and figures, and the numbers of rows and requests left out of a trace.
Json to_json(const RunOutcome& outcome);

// Names and values of all numbers and texts in `json`, in its order, for CSV columns: a name has
// the keys on the path to the value, joined by dots. Arrays are left out; null is an empty text.
std::vector<std::pair<std::string, std::string>> flatten(const Json& json);

// One row with its line break; fields are quoted if needed.
std::string csv_row(const std::vector<std::string>& fields);

// A number in the shortest form that reads back to the same value.
std::string csv_number(double value);
// The same; empty for NaN and infinities.
std::string csv_number_or_nothing(double value);
// Such numbers in one field: "1.5;2".
std::string csv_numbers(std::span<const double> values);

// The first line.
std::string series_csv_header();

// A line per window of time: the mean of each gauge.
std::string series_csv_rows(const std::string& allocator, const sim::Report& report);

}  // namespace recto::experiments
