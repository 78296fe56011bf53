#pragma once

// Gauges over time, joined to as many windows as fit into a picture.

#include <cstddef>
#include <vector>

#include "experiments/support/run_config.h"
#include "sim/metrics/report.h"
#include "sim/metrics/time_weighted.h"

namespace recto::experiments {

inline constexpr std::size_t kSeriesPointsMax = 400;

// Joins neighbouring windows until at most `windows_max` are left. Means are weighted by the time
// that they cover, so integrals are preserved. `windows_max` > 0. O(windows).
std::vector<sim::SeriesWindow> joined_windows(const std::vector<sim::SeriesWindow>& windows,
                                              std::size_t windows_max);

// When the last request ended.
SimTime end_of(const sim::Report& report);

// The most interesting time for details: shortly before the queue is longest and, among equal
// queues, the pool is fullest.
SimTime busiest_moment(const sim::Report& report);

// {"begin_s": [...], "used": [...], ...}: slots, requests; one value per window.
Json series_json(const sim::Report& report);

}  // namespace recto::experiments
