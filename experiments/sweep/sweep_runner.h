#pragma once

// Works through the runs of a grid on several threads.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/status.h"
#include "experiments/sweep/sweep_grid.h"
#include "experiments/sweep/sweep_journal.h"

namespace recto::experiments {

struct SweepRunOptions {
  int threads = 1;
  // Called as each run ends, from any thread.
  std::function<void(std::int64_t run, const RunRecord& record)> on_finished;
};

// Runs a configuration; a failure is a record, too.
RunRecord record_run(const RunConfig& config);

// Numbers of the runs that `journal` has not finished.
std::vector<std::int64_t> runs_to_do(const SweepGrid& grid, const SweepJournal& journal);

// One record per run, in the order of the grid, whatever the number of threads. Runs that the
// journal has are not repeated; the others are journalled as they end. A run that fails is a
// record; only a journal that cannot be written is a failure.
Result<std::vector<RunRecord>> run_sweep(const SweepGrid& grid, SweepJournal& journal,
                                         const SweepRunOptions& options);

// Identifies a configuration in the journal.
std::string config_hash(const RunConfig& config);

}  // namespace recto::experiments
