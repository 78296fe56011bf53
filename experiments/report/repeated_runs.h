#pragma once

// Whether runs that were repeated for a page are those of the study that the page shows.

#include <vector>

#include "core/status.h"
#include "experiments/report/recorded_run.h"
#include "experiments/report/results_folder.h"

namespace recto::experiments {

// `runs` are those of the study's configurations under the first seed. Every column of
// fragmentation.csv and every line of series.csv must be what they give; of several seeds, the
// first of the values that each mean is of. Invalid input, with the first difference.
Status check_repeated(const ResultsFolder& folder, const std::vector<RecordedRun>& runs);

}  // namespace recto::experiments
