#pragma once

// The study as files: fragmentation.csv, series.csv, manifest.json.

#include <string>
#include <vector>

#include "core/status.h"
#include "experiments/fragmentation/fragmentation_study.h"
#include "experiments/support/run_config.h"

namespace recto::experiments {

// One row per configuration: every figure, and every field of its report except series and ids.
// With several seeds each number is a mean, with the half-width of its 95 % confidence interval and
// the value under each seed beside it.
std::string fragmentation_csv(const std::vector<FragmentationRow>& rows);

// One row per configuration and window of time: the mean of each gauge, under the first seed.
std::string series_csv(const std::vector<FragmentationRow>& rows);

// Writes all three into `folder`, the manifest last and extended by the entries of `extra`.
Status write_fragmentation_files(const std::vector<FragmentationRow>& rows,
                                 const std::string& folder, const Json& extra);

}  // namespace recto::experiments
