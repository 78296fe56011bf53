#include "experiments/fragmentation/fragmentation_notes.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "experiments/support/grid_remarks.h"
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

}  // namespace

std::string fragmentation_notes(const std::vector<FragmentationRow>& rows) {
  const bool drained = std::ranges::any_of(rows, [](const FragmentationRow& row) {
    return std::ranges::any_of(row.runs,
                               [](const SeedRun& run) { return run.outcome.report.covers_drain; });
  });
  std::string text = seeds_note(rows);
  text += means_remark(drained ? Coverage::kWithDrain : Coverage::kArrivals);
  text += provenance_remark(rows.front().config);
  for (const std::string& remark : grid_remarks(configs_of(rows))) text += wrapped(remark);
  for (const FragmentationRow& row : rows) text += rejected_note(row);
  // The trace is the same for all.
  text += trace_remark(rows.front().runs.front().outcome);
  return text;
}

}  // namespace recto::experiments
