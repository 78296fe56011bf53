#pragma once

// What a page shows of a folder of results: numbers, aggregated as far as a picture needs them.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/status.h"
#include "experiments/report/results_folder.h"
#include "experiments/support/run_config.h"

namespace recto::experiments {

struct ReportOptions {
  int threads = 1;
  // Labels of the rows with a memory map; empty: one row of each allocator, of the block size that
  // is recommended.
  std::vector<std::string> maps = {};
  std::optional<double> map_from_s = {};  // what is told block by block begins here
  // Called from any thread when the run of a configuration has ended.
  std::function<void(const std::string& label)> done = {};
};

// Of a study: figures as in its file; series and latencies from the same runs, made once more under
// the first seed. Fails where an input file is not there any more, or is another one.
Result<Json> fragmentation_data(const ResultsFolder& folder, const ReportOptions& options);

// Of a sweep: figures of every point, and a block-size panel for each setting of the other axes.
Result<Json> sweep_data(const ResultsFolder& folder);

// "paged 16"; contiguous allocators have no blocks.
std::string study_label(const RunConfig& config);

}  // namespace recto::experiments
