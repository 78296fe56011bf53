#pragma once

// The figures of results files that reports show, with the same names for all commands.

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
  // The column of fragmentation.csv: "..._ns" in nanoseconds, "..._slots.mean" a gauge in slots.
  std::string_view study;
  std::string_view study_plus = {};  // a column to add to `study`
};
using MetricColumn = std::string_view ReportMetric::*;  // of sweep.csv or of fragmentation.csv

inline MetricColumn metric_column(const ResultsFolder& folder) {
  return folder.is_sweep ? &ReportMetric::sweep : &ReportMetric::study;
}

std::span<const ReportMetric> report_metrics();

// Invalid input, naming the column, if the table lacks one.
Status expect_metrics(const ResultsTable& table, MetricColumn column);

// The metrics of a row, or of a row under one seed: {"used": 0.54, ...}. A mean over seeds has the
// half-width of its interval beside it, as "used_ci95". Latencies are null if no request of some
// seed has them.
Json metrics_json(const ResultsTable& table, MetricColumn column, std::size_t row,
                  std::optional<std::size_t> seed = {});

// The key of an array with the metrics under each seed, beside metrics that are means over seeds.
inline constexpr const char* kBySeed = "by_seed";

// The metrics of a row of the folder, with kBySeed if there are several seeds.
Json metrics_by_seed_json(const ResultsFolder& folder, std::size_t row);

// The metrics of a failed run, which has no figures: nulls.
Json no_metrics();

// Sets `metrics`' kernel_s: seconds of attention, all layers, in a decode step that reads as many
// tokens as the pool holds; and kernel_basis: how that follows from the measured cases of this
// block size, in a word. Both null unless the time model is measured:GPU. Fails if that card's
// file, or the block size in it, is missing.
Status add_kernel_time(const RunConfig& config, Json& metrics);

// Five significant digits: enough for a picture, in few bytes.
double rounded(double value);

}  // namespace recto::experiments
