#pragma once

// The identity of a sweep, with which its runs must agree: settings, versions, files by content.

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

// The sources of step times over all points, and the grid_remarks() on the points.
std::set<std::string> remarks_on(const SweepGrid& grid);

// The manifest without the outcome of the runs. Its inputs are files by content; invalid input if
// one cannot be read.
Result<Json> describe_sweep(const SweepGrid& grid);

// The same for some runs, without their settings: {"recto": versions, "inputs": the files that
// these runs read, "columns": names}. O(these runs), not O(all runs).
Result<Json> describe_part(const SweepGrid& grid, const std::vector<RunSpan>& spans);

// Invalid input, with what differs, unless `part` belongs to the sweep that `manifest` describes.
Status check_part_of(const Json& manifest, const Json& part);

// Invalid input, naming the file, unless the part's inputs have each file that its run reads: on a
// worker without the file the run would fail for that reason.
Status check_reads(const Json& part, const RunConfig& config);

}  // namespace recto::experiments
