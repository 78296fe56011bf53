#pragma once

// A folder that `recto fragmentation --out` or `recto sweep --out` wrote.

#include <cstdint>
#include <string>
#include <vector>

#include "core/status.h"
#include "experiments/report/results_table.h"
#include "experiments/support/run_config.h"

namespace recto::experiments {

struct ResultsFolder {
  std::string path;
  bool is_sweep = false;
  Json manifest;
  ResultsTable table;      // fragmentation.csv or sweep.csv
  std::int64_t seeds = 1;  // with several, numbers in the table are means
  // For a sweep: a configuration per row, and the columns that are settings.
  std::vector<RunConfig> configs;
  std::vector<std::string> axes;

  std::string manifest_path() const { return path + "/manifest.json"; }
  std::string commit() const { return manifest["recto"]["commit"].get<std::string>(); }
};

// Invalid input, naming the file and the field, if a part is missing, was not written by recto, is
// not the file that the manifest names, or does not belong to the other parts.
Result<ResultsFolder> read_results_folder(const std::string& path);

}  // namespace recto::experiments
