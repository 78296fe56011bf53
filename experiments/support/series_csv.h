#pragma once

// The gauges of runs over time, as series.csv has them.

#include <string>

#include "sim/metrics/report.h"

namespace recto::experiments {

// The first line.
std::string series_csv_header();

// A line per window of time: the mean of each gauge.
std::string series_csv_rows(const std::string& allocator, const sim::Report& report);

}  // namespace recto::experiments
