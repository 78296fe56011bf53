#include "experiments/sweep/sweep_runner.h"

#include <atomic>
#include <mutex>
#include <utility>

#include "core/json.h"
#include "experiments/support/manifest.h"
#include "experiments/support/parallel.h"
#include "experiments/sweep/sweep_columns.h"

namespace recto::experiments {
RunRecord record_run(const RunConfig& config) {
  Result<std::vector<double>> values = measure(config);
  if (!values.is_ok()) return {.values = {}, .error = values.status().message()};
  return {.values = std::move(values).value(), .error = {}};
}

std::vector<std::int64_t> runs_to_do(const SweepGrid& grid, const SweepJournal& journal) {
  std::vector<std::int64_t> runs;
  for (std::int64_t run = 0; run < grid.run_count(); ++run) {
    if (!journal.has(run)) runs.push_back(run);
  }
  return runs;
}

Result<std::vector<RunRecord>> run_sweep(const SweepGrid& grid, SweepJournal& journal,
                                         const SweepRunOptions& options) {
  std::vector<RunRecord> records(static_cast<std::size_t>(grid.run_count()));
  for (const auto& [run, record] : journal.finished()) {
    records[static_cast<std::size_t>(run)] = record;
  }
  const std::vector<std::int64_t> todo = runs_to_do(grid, journal);
  std::mutex journal_mutex;
  Status journal_status;
  std::atomic<bool> is_journal_broken{false};
  for_each_index(todo.size(), options.threads, [&](std::size_t i) {
    if (is_journal_broken.load()) return;
    const RunConfig config = grid.run_config(todo[i]);
    RunRecord record = record_run(config);
    {
      const std::lock_guard lock(journal_mutex);
      if (is_journal_broken.load()) return;
      journal_status = journal.append({{todo[i], config_hash(config), record}});
      is_journal_broken.store(!journal_status.is_ok());
    }
    if (options.on_finished) options.on_finished(todo[i], record);
    records[static_cast<std::size_t>(todo[i])] = std::move(record);
  });
  RECTO_RETURN_IF_ERROR(journal_status);
  return records;
}

std::string config_hash(const RunConfig& config) {
  return content_hash(json_text(to_json(config)));
}

}  // namespace recto::experiments
