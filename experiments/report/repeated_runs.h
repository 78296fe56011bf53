#pragma once

// Checks that runs repeated for a page equal those of the study that the page shows.

#include <vector>

#include "core/status.h"
#include "experiments/report/recorded_run.h"
#include "experiments/report/results_folder.h"

namespace recto::experiments {

// `runs` are runs of the study's configurations under the first seed. Every column of
// fragmentation.csv and every line of series.csv must equal their results; with several seeds, the
// first value of each mean must. Invalid input, with the first difference.
Status check_repeated(const ResultsFolder& folder, const std::vector<RecordedRun>& runs);

}  // namespace recto::experiments
