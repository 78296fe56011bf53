#pragma once

// The figures of a results file that a report shows, under one set of names for all commands.

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/status.h"
#include "experiments/report/results_folder.h"
#include "experiments/report/results_table.h"
#include "experiments/support/run_config.h"

namespace recto::experiments {

struct ReportMetric {
  std::string_view name;   // "used", "ttft_p99_s"; shares without a unit
  std::string_view sweep;  // the column of sweep.csv
  // Of fragmentation.csv: "..._ns" is in nanoseconds, "..._slots.mean" a gauge in slots.
  std::string_view study;
  std::string_view study_plus = {};  // a column that is added to that of the study
};
using MetricColumn = std::string_view ReportMetric::*;  // of sweep.csv or of fragmentation.csv

inline MetricColumn metric_column(const ResultsFolder& folder) {
  return folder.is_sweep ? &ReportMetric::sweep : &ReportMetric::study;
}

std::span<const ReportMetric> report_metrics();

// Invalid input, naming the column, if the table lacks one.
Status expect_metrics(const ResultsTable& table, MetricColumn column);

// Of a row, or of a row's values under one seed: {"used": 0.54, ...}. A mean over seeds has the
// half-width of its interval beside it, as "used_ci95". Latencies are null where no request of some
// seed has them.
Json metrics_json(const ResultsTable& table, MetricColumn column, std::size_t row,
                  std::optional<std::size_t> seed = {});

// Of metrics that are means over seeds: an array of the metrics under each.
inline constexpr const char* kBySeed = "by_seed";

// The same of a row of the folder, with kBySeed where there are several seeds.
Json metrics_by_seed_json(const ResultsFolder& folder, std::size_t row);

// The same for a row without figures, of a failed run: nulls.
Json no_metrics();

// Sets `metrics`' kernel_s: seconds of attention, all layers, in a decode step that reads as many
// tokens as the pool holds; and kernel_basis: how that follows from the measured cases of this
// block size, in a word. Both null unless the time model is measured:GPU. Fails if that card's
// file, or the block size in it, is missing.
Status add_kernel_time(const RunConfig& config, Json& metrics);

// Five significant digits: what a picture needs, in the fewest bytes.
double rounded(double value);

}  // namespace recto::experiments
