#pragma once

// A folder that `recto fragmentation --out` or `recto sweep --out` wrote.

#include <cstdint>
#include <string>
#include <vector>

#include "core/status.h"
#include "experiments/report/results_table.h"
#include "experiments/support/run_config.h"

namespace recto::experiments {

enum class ResultsKind : std::uint8_t { kFragmentation, kSweep };

struct ResultsFolder {
  std::string path;
  ResultsKind kind = ResultsKind::kFragmentation;
  Json manifest;
  ResultsTable table;                     // fragmentation.csv or sweep.csv
  std::int64_t seeds = 1;                 // of several, numbers in the table are means
  std::vector<ResultsTable> seed_tables;  // the table under each seed; of one, none
  std::vector<RunConfig> configs;         // of a study, one per row; of a sweep none
};

// The configurations of a study name their inputs by their present paths (located_inputs.h).
// Invalid input, naming the file and the field, if something is missing, was not written by recto,
// or is not the file that the manifest was written with.
Result<ResultsFolder> read_results_folder(const std::string& path);

// The commit that the manifest names; empty if it names none.
std::string commit_of(const ResultsFolder& folder);

}  // namespace recto::experiments
