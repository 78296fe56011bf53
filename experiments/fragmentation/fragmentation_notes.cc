#include "experiments/fragmentation/fragmentation_notes.h"

#include <algorithm>

#include "experiments/support/grid_remarks.h"
#include "experiments/support/remarks.h"

namespace recto::experiments {

std::string fragmentation_notes(const std::vector<FragmentationRow>& rows) {
  const bool drained = std::ranges::any_of(
      rows, [](const FragmentationRow& row) { return row.outcome.report.covers_drain; });
  std::string text = means_remark(drained ? Coverage::kWithDrain : Coverage::kArrivals);
  text += provenance_remark(rows.front().config);
  for (const std::string& remark : grid_remarks(configs_of(rows))) text += wrapped(remark);
  for (const FragmentationRow& row : rows) {
    text += rejected_remark(row.outcome.report, row.label());
  }
  // The trace is the same for all.
  text += trace_remark(rows.front().outcome);
  return text;
}

}  // namespace recto::experiments
