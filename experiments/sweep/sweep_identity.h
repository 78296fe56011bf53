#pragma once

// The identity of a sweep, by which its runs are recognised: settings, versions, files by content.

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "core/status.h"
#include "experiments/support/run_config.h"
#include "experiments/sweep/sweep_grid.h"

namespace recto::experiments {

// Runs `first` to `last`, inclusive.
struct RunSpan {
  std::int64_t first = 0;
  std::int64_t last = 0;
};

// Each point under its first seed.
std::vector<RunConfig> point_configs(const SweepGrid& grid);

// What step times are based on, over all points, and the grid_remarks() on the points.
std::set<std::string> remarks_on(const SweepGrid& grid);

// The manifest, apart from how the runs went. Its inputs are files by content; invalid input if one
// cannot be read.
Result<Json> describe_sweep(const SweepGrid& grid);

// The same for some runs, whose settings are left out: {"recto": versions, "inputs": the files that
// these runs read, "columns": names}. Takes time proportional to the number of these runs, not of
// all.
Result<Json> describe_part(const SweepGrid& grid, const std::vector<RunSpan>& spans);

// Invalid input, with what differs, unless `part` belongs to the sweep that `manifest` describes.
Status check_part_of(const Json& manifest, const Json& part);

// Invalid input, with the file, unless the part's inputs have each file that a run of it reads: a
// worker that has not got it hands in a run that failed for that.
Status check_reads(const Json& part, const RunConfig& config);

}  // namespace recto::experiments
