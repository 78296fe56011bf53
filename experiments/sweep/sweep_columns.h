#pragma once

// The figures of a run that a sweep keeps: one table, from which the columns of sweep.csv and the
// values in the journal follow. Adding a figure takes one line in sweep_columns.cc.

#include <span>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "experiments/support/run.h"

namespace recto::experiments {

struct MeasuredRun {
  RunOutcome outcome;
  Figures figures;
};

struct SweepColumn {
  std::string_view name;                    // the unit comes last
  double (*value)(const MeasuredRun& run);  // NaN where the run has no such figure
};

std::span<const SweepColumn> sweep_columns();

// Runs a configuration; one value per column.
Result<std::vector<double>> measure(const RunConfig& config);

}  // namespace recto::experiments
