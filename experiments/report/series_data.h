#pragma once

// Gauges over time, in as many windows as a picture has room for.

#include <cstddef>
#include <vector>

#include "experiments/support/run_config.h"
#include "sim/metrics/report.h"
#include "sim/metrics/time_weighted.h"

namespace recto::experiments {

inline constexpr std::size_t kSeriesPointsMax = 400;

// Joins neighbours until at most `windows_max` are left. Each mean is weighted by the time that it
// covers, so that integrals are preserved. `windows_max` > 0. O(windows).
std::vector<sim::SeriesWindow> joined_windows(const std::vector<sim::SeriesWindow>& windows,
                                              std::size_t windows_max);

// {"begin_s": [...], "used": [...], ...}: slots, requests; one value per window.
Json series_json(const sim::Report& report);

}  // namespace recto::experiments
