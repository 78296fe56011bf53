#pragma once

// A sweep in parts, for several machines: one process prints runs, another collects them. Who
// carries the lines between them need not understand any.
//
// The collector says what is left on one line, {"grid": ..., "inputs": [...], "runs": 96,
// "left": [[0, 41], [50, 95]]}, and takes lines: of each part, what it rests on
// (`describe_part`), then its records; or {"run": 17, "error": "..."} for a run that nobody could
// do.

#include <cstdint>
#include <functional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "experiments/support/run_config.h"
#include "experiments/sweep/sweep_grid.h"
#include "experiments/sweep/sweep_identity.h"
#include "experiments/sweep/sweep_journal.h"
#include "experiments/sweep/sweep_record.h"

namespace recto::experiments {

// "0-9,12", numbers of runs. Invalid input for anything else and beyond the grid's runs.
Result<std::vector<RunSpan>> parse_run_spans(std::string_view text, std::int64_t run_count);

// Runs these, one after the other, and prints what they rest on and a record each, as it ends. A
// run that fails is a record; failed if nobody listens any more.
Status print_runs(const SweepGrid& grid, const std::vector<RunSpan>& spans, std::ostream& out);

// The line that says what is left. [runs to do]
std::string plan_line(const SweepGrid& grid, const Json& manifest,
                      const std::vector<std::int64_t>& left);

struct CollectOptions {
  int input = 0;  // file descriptor
  // Called for each record that was missing.
  std::function<void(std::int64_t run, const RunRecord& record)> on_finished;
};

// Journals records as they come, all that were read at once with one wait for the disk. Then one
// record per run, in the order of the grid. What came twice is taken once. Failed if the input
// ends before all are there; invalid input, naming the line, for what is no record of this sweep.
Result<std::vector<RunRecord>> collect_runs(const SweepGrid& grid, const Json& manifest,
                                            const SweepJournal& journal,
                                            const CollectOptions& options);

}  // namespace recto::experiments
