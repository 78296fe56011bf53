#include "experiments/fragmentation/fragmentation_notes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "experiments/support/remarks.h"

namespace recto::experiments {
namespace {

constexpr std::string_view kStates[] = {"used",   "reserved", "internal",
                                        "cached", "free",     "overhead"};

// How certain the means over several seeds are; empty for one seed.
std::string seeds_note(const std::vector<FragmentationRow>& rows) {
  const std::size_t seeds = rows.front().runs.size();
  if (seeds == 1) return "";
  double widest = -1;
  std::string where;
  for (const FragmentationRow& row : rows) {
    for (const std::string_view state : kStates) {
      const std::string name = "figures.mean_shares." + std::string(state);
      const double half_width = find_interval(row.intervals, name).half_width;
      if (half_width <= widest) continue;
      widest = half_width;
      where = fmt::format("{} of {}", state, row.label());
    }
  }
  return wrapped(fmt::format(
      "Figures are means over {} seeds, from {} on, those of percentiles too; shares of "
      "the pool are within +-{:.2f} points ({}) with 95 % confidence, by Student's t.",
      seeds, rows.front().config.seed, 100 * widest, where));
}

// For the first seed under which anything was rejected.
std::string rejected_note(const FragmentationRow& row) {
  for (const SeedRun& run : row.runs) {
    const std::string label = row.runs.size() == 1
                                  ? row.label()
                                  : fmt::format("{}, seed {}", row.label(), run.config.seed);
    const std::string remark = rejected_remark(run.outcome.report, label);
    if (!remark.empty()) return remark;
  }
  return "";
}

bool has_served(const SeedRun& run) { return run.outcome.report.counters.requests_finished > 0; }

bool is_drained(const SeedRun& run) { return has_served(run) && run.outcome.report.covers_drain; }

// What part of the runs the means cover, and of which rows it is another. Runs that served nothing
// have no means.
std::string coverage_note(const std::vector<FragmentationRow>& rows) {
  std::vector<std::string> drained_rows;
  std::int64_t served_runs = 0;
  std::int64_t drained_runs = 0;
  for (const FragmentationRow& row : rows) {
    const std::int64_t served = std::ranges::count_if(row.runs, has_served);
    const std::int64_t drained = std::ranges::count_if(row.runs, is_drained);
    served_runs += served;
    drained_runs += drained;
    if (drained == 0) continue;
    const std::string some =
        drained == served ? "" : fmt::format(" ({} of {} seeds)", drained, served);
    drained_rows.push_back(row.label() + some);
  }
  if (served_runs == 0) return "";
  if (drained_runs == served_runs) return means_remark(Coverage::kWithDrain);
  const std::string text = means_remark(Coverage::kArrivals);
  if (drained_rows.empty()) return text;
  return text + wrapped(fmt::format(
                    "Those of {} go to the last answer: nothing arrived after the first admission.",
                    fmt::join(drained_rows, ", ")));
}

}  // namespace

std::string fragmentation_notes(const std::vector<FragmentationRow>& rows) {
  std::string text = seeds_note(rows);
  text += coverage_note(rows);
  text += provenance_remark(rows.front().config);
  for (const std::string& remark : grid_remarks(configs_of(rows))) text += wrapped(remark);
  for (const FragmentationRow& row : rows) text += rejected_note(row);
  // The trace is the same for all.
  text += trace_remark(rows.front().runs.front().outcome);
  return text;
}

}  // namespace recto::experiments
