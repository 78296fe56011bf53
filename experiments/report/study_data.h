#pragma once

// The data that a page and figures show of a folder of results: numbers, aggregated for pictures.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/status.h"
#include "experiments/report/results_folder.h"

namespace recto::experiments {

struct ReportOptions {
  int threads = 1;
  // Labels of the rows with a memory map; empty: one row per allocator, with the recommended block
  // size.
  std::vector<std::string> maps = {};
  std::optional<double> map_from_s = {};  // the part shown block by block begins here
  // Called from any thread when the run of a configuration has ended.
  std::function<void(const std::string& label)> done = {};
};

// The data of a study: figures as in its file; series and latencies from the same runs, repeated
// under the first seed. Fails if an input file is gone or has changed.
Result<Json> fragmentation_data(const ResultsFolder& folder, const ReportOptions& options);

// The data of a sweep: figures of every point, and a block-size panel for each setting of the other
// axes.
Result<Json> sweep_data(const ResultsFolder& folder);

}  // namespace recto::experiments
