#pragma once

// The figures of a run that a sweep keeps: the columns of sweep.csv and the values in the journal.
// Adding a figure takes one line in sweep_columns.cc.

#include <span>
#include <string>
#include <vector>

#include "core/status.h"
#include "experiments/support/run_config.h"

namespace recto::experiments {

// Names; the unit comes last.
std::span<const std::string> sweep_columns();

// Runs a configuration; one value per column, NaN if the run lacks the figure.
Result<std::vector<double>> measure(const RunConfig& config);

}  // namespace recto::experiments
