#pragma once

// The figures of a results file that a report shows, under one set of names for all commands.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "core/status.h"
#include "experiments/report/results_table.h"
#include "experiments/support/run_config.h"

namespace recto::experiments {

// Value = column * scale, plus `and_column` where there is one, over `per` where there is one.
struct ReportMetric {
  std::string_view name;  // "used", "ttft_p99_s"; shares without a unit
  std::string_view column;
  double scale = 1;
  std::string_view and_column = {};
  std::string_view per = {};
};

std::span<const ReportMetric> fragmentation_metrics();
std::span<const ReportMetric> sweep_metrics();

// {"used": 0.54, ...}; null where the file has no number. Invalid input for a text that is not a
// number.
Result<Json> metrics_json(const ResultsTable& table, std::size_t row,
                          std::span<const ReportMetric> metrics);

// Five significant digits: what a picture needs, in the fewest bytes.
double rounded(double value);

}  // namespace recto::experiments
