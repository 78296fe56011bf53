#pragma once

// Means, percentiles and series of the gauges over simulated time. Gauges change only at events;
// between two events each holds its value, and counts with that many nanoseconds.

#include <array>
#include <cstdint>
#include <vector>

#include "core/units.h"
#include "sim/metrics/gauges.h"
#include "sim/metrics/histogram.h"

namespace recto::sim {

struct GaugeSummary {
  double mean = 0;
  std::int64_t p50 = 0;
  std::int64_t p90 = 0;
  std::int64_t p99 = 0;
  std::int64_t max = 0;
};

// Means over equal windows of time; the last one may be shorter.
struct SeriesWindow {
  SimTime begin;
  SimDuration length;
  std::array<double, kGaugeCount> mean{};
};

struct TimeWeightedOptions {
  SimDuration series_window{kNanosecondsPerSecond};  // doubles when the series grows too long
  std::int64_t series_windows_max = 4096;
};

class TimeWeighted {
 public:
  explicit TimeWeighted(const TimeWeightedOptions& options = {});

  // Lets time pass to `now` with the present values. O(gauges), plus series windows passed.
  void advance(SimTime now);
  void set(const GaugeValues& values) { values_ = values; }

  // Summaries cover the time between these two; without `open` nothing is summed up.
  void open(SimTime now);
  void close(SimTime now);
  bool is_open() const { return is_open_; }

  // Of the window between open and close; of everything since `open` where that window is empty.
  std::array<GaugeSummary, kGaugeCount> summaries() const;
  // Length of what `summaries` covers.
  SimDuration covered() const;
  bool covers_drain() const { return window_.length.value() == 0; }

  std::vector<SeriesWindow> series() const;

 private:
  using Integrals = std::array<__int128, kGaugeCount>;

  struct Sums {
    SimDuration length;
    Integrals integrals{};
    std::array<std::int64_t, kGaugeCount> max{};
    std::array<Histogram, kGaugeCount> histograms;
  };

  void accumulate(Sums& sums, SimDuration elapsed);
  void advance_series(SimTime now);
  void halve_series();
  const Sums& covered_sums() const { return covers_drain() ? since_open_ : window_; }

  TimeWeightedOptions options_;
  GaugeValues values_;
  SimTime now_;
  bool is_open_ = false;
  Sums since_open_;
  Sums window_;

  SimDuration series_window_;
  SimTime series_end_;  // end of the window that is being filled
  Integrals open_window_{};
  std::vector<Integrals> closed_windows_;
};

}  // namespace recto::sim
