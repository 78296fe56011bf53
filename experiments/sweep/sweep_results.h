#pragma once

// The results of a sweep, point by point, as files and as terminal output.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "experiments/support/resolved_run.h"
#include "experiments/support/run.h"
#include "experiments/sweep/sweep_grid.h"
#include "experiments/sweep/sweep_journal.h"

namespace recto::experiments {

struct SweepPoint {
  std::vector<std::string> axis_values;
  TimeModelFacts time_model;          // empty if unknown
  std::vector<MeanInterval> figures;  // one per sweep column, over the seeds; none if a run failed
  std::vector<std::vector<double>>
      by_seed;        // [column][seed]: values of the means; empty for one seed
  std::string error;  // of the first run that failed
};

// `records` are those of all runs of `grid`.
std::vector<SweepPoint> collect_points(const SweepGrid& grid,
                                       const std::vector<RunRecord>& records);

// One row per point: its number, its axis values, its outcome, the source of its step times, and a
// column per figure. With several seeds, each figure is a mean, with the half-width of its 95 %
// confidence interval and the value under each seed beside it.
std::string sweep_csv(const SweepGrid& grid, const std::vector<SweepPoint>& points);

// The first rows and the most important figures, no wider than `columns`.
std::string sweep_table(const SweepGrid& grid, const std::vector<SweepPoint>& points,
                        std::size_t columns);

// The number of points with requests that could never fit; empty if there are none.
std::string rejected_points(const std::vector<SweepPoint>& points);
// The same for bad rows of the trace.
std::string skipped_points(const std::vector<SweepPoint>& points);

// "point 3 (block_size 16, allocator paged)"
std::string point_name(const SweepGrid& grid, std::int64_t point);

}  // namespace recto::experiments
