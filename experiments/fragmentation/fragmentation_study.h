#pragma once

// One workload, several allocators and block sizes, under one seed or several.

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
  std::vector<SeedRun> runs;             // in order of the seeds
  std::vector<NamedInterval> intervals;  // of all numbers of the runs

  const sim::Report& first_report() const { return runs.front().outcome.report; }
  // Over the seeds; `name` as in fragmentation.csv.
  double mean(std::string_view name) const { return find_interval(intervals, name).mean; }
  PoolShares mean_shares() const;
  PaperShares mean_paper_shares() const;

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
  int seeds = 1;  // starting with each configuration's own
  int threads = 1;
  std::function<void(const RunConfig&)> done = {};  // called from any thread when a run has ended
};

// Runs all configurations. Returns the first failure in their order.
Result<std::vector<FragmentationRow>> run_all(const std::vector<RunConfig>& configs,
                                              const StudyOptions& options);

std::vector<RunConfig> configs_of(const std::vector<FragmentationRow>& rows);

// "paged 16"
std::string label_of(const RunConfig& config);

}  // namespace recto::experiments
