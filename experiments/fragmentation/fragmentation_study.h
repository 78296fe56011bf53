#pragma once

// Runs one workload with several allocators and block sizes, under one seed or several, and writes
// the results: fragmentation.csv, series.csv, manifest.json.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "experiments/support/run.h"
#include "experiments/support/run_config.h"

namespace recto::experiments {

struct FragmentationRow {
  RunConfig config;                      // under the first seed
  std::vector<RunOutcome> runs;          // in order of the seeds
  std::vector<NamedInterval> intervals;  // of all numbers of the runs
  Json latency;                          // of the first run: LatencyQuantiles::json

  const sim::Report& first_report() const { return runs.front().report; }
  // Over the seeds; `name` as in fragmentation.csv.
  double mean(std::string_view name) const { return find_interval(intervals, name).mean; }
  PoolShares mean_shares() const;

  std::string block_text() const;  // "16"; "-" for contiguous allocators
  std::string label() const;       // "paged 16"
};

struct FragmentationGrid {
  RunConfig base;
  std::vector<std::string> allocators;
  std::vector<std::int64_t> block_sizes;
};

// One configuration per allocator and block size, in this order; contiguous allocators have no
// blocks and occur once. Invalid input unless all configurations are valid and every setting has an
// effect on some of them.
Result<std::vector<RunConfig>> expand(const FragmentationGrid& grid);

struct StudyOptions {
  int seeds = 1;  // starting with each configuration's seed
  int threads = 1;
  std::function<void(const RunConfig&)> done = {};  // called from any thread when a run has ended
};

// Runs all configurations. Returns the first failure in their order.
Result<std::vector<FragmentationRow>> run_all(const std::vector<RunConfig>& configs,
                                              const StudyOptions& options);

std::vector<RunConfig> configs_of(const std::vector<FragmentationRow>& rows);

// One row per configuration: every figure, and every field of its report except series and ids.
// With several seeds each number is a mean, with the half-width of its 95 % confidence interval and
// the value under each seed beside it.
std::string fragmentation_csv(const std::vector<FragmentationRow>& rows);

// One row per configuration and window of time: the mean of each gauge, under the first seed.
std::string series_csv(const std::vector<FragmentationRow>& rows);

// Writes all three files into `folder`, the manifest last and extended by the entries of `extra`.
Status write_fragmentation_files(const std::vector<FragmentationRow>& rows,
                                 const std::string& folder, const Json& extra);

}  // namespace recto::experiments
