#pragma once

// The figures of a results file that a report shows, under one set of names for all commands.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/status.h"
#include "experiments/report/results_table.h"
#include "experiments/support/run_config.h"

namespace recto::experiments {

enum class MetricKind : std::uint8_t {
  kAmount,         // never below 0
  kSigned,         // any number
  kLatency,        // as an amount; of finished requests, missing where there are none
  kLatencyOfSome,  // the same, of those that have it
};

// Value = column * scale, plus `and_column` where there is one, over `per` where there is one;
// missing where `count_column`, if there is one, is 0.
struct ReportMetric {
  std::string_view name;  // "used", "ttft_p99_s"; shares without a unit
  std::string_view column;
  double scale = 1;
  std::string_view and_column = {};
  std::string_view per = {};
  MetricKind kind = MetricKind::kAmount;
  std::string_view count_column = {};
};

std::span<const ReportMetric> fragmentation_metrics();
std::span<const ReportMetric> sweep_metrics();

// {"used": 0.54, ...}; a mean over seeds has the half-width of its interval beside it, as
// "used_ci95". Latencies are null where no request of some seed has them. Invalid input, naming
// line and column, for anything that is not such a number, an empty field or a missing column.
Result<Json> metrics_json(const ResultsTable& table, std::size_t row,
                          std::span<const ReportMetric> metrics);

// The same, with those under each seed as an array "by_seed" where `seed_tables` are not empty, one
// per seed.
Result<Json> metrics_by_seed_json(const ResultsTable& table,
                                  std::span<const ResultsTable> seed_tables, std::size_t row,
                                  std::span<const ReportMetric> metrics);

// The same for a row without figures, of a failed run: nulls.
Json no_metrics(std::span<const ReportMetric> metrics);

// Five significant digits: what a picture needs, in the fewest bytes.
double rounded(double value);

}  // namespace recto::experiments
