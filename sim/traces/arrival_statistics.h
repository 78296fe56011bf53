#pragma once

// How requests arrive: rates, peaks and burstiness, in constant memory.

#include <cstdint>
#include <optional>

#include "core/units.h"

namespace recto::sim {

struct ArrivalFigures {
  SimDuration duration;  // from the first arrival to the last
  // Gaps per second, (count - 1) / duration; nullopt if all arrive at once.
  std::optional<double> mean_per_second;
  // The most arrivals in any window [k s, (k + 1) s) or [k min, (k + 1) min), counted from the
  // first arrival.
  std::int64_t peak_per_second = 0;
  std::int64_t peak_per_minute = 0;
  // Standard deviation of the gaps over their mean: 1 for Poisson arrivals, larger for bursts.
  std::optional<double> gap_variation;
};

class ArrivalStatistics {
 public:
  void add(SimTime arrival);  // no earlier than the one before; O(1)
  ArrivalFigures figures() const;

 private:
  // Finds the fullest of the windows of one length.
  class Windows {
   public:
    explicit Windows(SimDuration length) : length_(length) {}
    void add(SimDuration since_first);
    std::int64_t peak() const { return peak_; }

   private:
    SimDuration length_;
    std::int64_t index_ = 0;
    std::int64_t count_ = 0;
    std::int64_t peak_ = 0;
  };

  std::int64_t count_ = 0;
  SimTime first_;
  SimTime last_;
  Windows seconds_{SimDuration(kNanosecondsPerSecond)};
  Windows minutes_{SimDuration(60 * kNanosecondsPerSecond)};
  // Welford's running mean and sum of squared deviations of the gaps, in seconds.
  double gap_mean_ = 0;
  double gap_squares_ = 0;
};

}  // namespace recto::sim
