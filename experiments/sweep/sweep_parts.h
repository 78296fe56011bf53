#pragma once

// Runs a sweep: on several threads here, or in parts on several machines. On several machines one
// process prints runs, another collects them, and a transport passes the lines without parsing
// them.
//
// The collector prints the runs that are left on one line, {"grid": ..., "inputs": [...], "runs":
// 96, "left": [[0, 41], [50, 95]]}, and reads lines: for each part, its description
// (`describe_part`), then its records; or {"run": 17, "error": "..."} for a run that no worker
// could do.

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

namespace recto::experiments {

// Parses numbers of runs, such as "0-9,12". Invalid input for anything else and for numbers beyond
// the grid's runs.
Result<std::vector<RunSpan>> parse_run_spans(std::string_view text, std::int64_t run_count);

// Runs these one after the other, and prints their description and, as each ends, its record. A run
// that fails is a record, too. Failed if the output's reader has closed it.
Status print_runs(const SweepGrid& grid, const std::vector<RunSpan>& spans, std::ostream& out);

// The line with the runs that are left; `left` holds the runs to do.
std::string plan_line(const SweepGrid& grid, const Json& manifest,
                      const std::vector<std::int64_t>& left);

struct CollectOptions {
  int input = 0;  // file descriptor
  // Called for each record that was missing.
  std::function<void(std::int64_t run, const RunRecord& record)> on_finished;
};

// Journals records as they arrive; waits for the disk once for records read together. Returns one
// record per run, in the order of the grid; a record that arrives twice counts once. Failed if the
// input ends before all runs are there; invalid input, naming the line, for a line that is not a
// record of this sweep.
Result<std::vector<RunRecord>> collect_runs(const SweepGrid& grid, const Json& manifest,
                                            const SweepJournal& journal,
                                            const CollectOptions& options);

struct SweepRunOptions {
  int threads = 1;
  // Called as each run ends, from any thread.
  std::function<void(std::int64_t run, const RunRecord& record)> on_finished;
};

// Runs a configuration; a failure is a record, too.
RunRecord record_run(const RunConfig& config);

// Numbers of the runs that `journal` has not finished.
std::vector<std::int64_t> runs_to_do(const SweepGrid& grid, const SweepJournal& journal);

// One record per run, in the order of the grid, for any number of threads. Runs in the journal are
// not repeated; the others are journalled as they end. A run that fails is a record; only a journal
// that cannot be written is a failure.
Result<std::vector<RunRecord>> run_sweep(const SweepGrid& grid, SweepJournal& journal,
                                         const SweepRunOptions& options);

// Identifies a configuration in the journal.
std::string config_hash(const RunConfig& config);

}  // namespace recto::experiments
