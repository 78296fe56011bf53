#include "sim/traces/arrival_statistics.h"

#include <algorithm>
#include <cmath>

#include "core/contract.h"

namespace recto::sim {

void ArrivalStatistics::Windows::add(SimDuration since_first) {
  const std::int64_t index = since_first.value() / length_.value();
  if (index != index_) count_ = 0;
  index_ = index;
  peak_ = std::max(peak_, ++count_);
}

void ArrivalStatistics::add(SimTime arrival) {
  if (count_ == 0) {
    first_ = arrival;
  } else {
    RECTO_CHECK_LE(last_, arrival);
    const double gap = recto::seconds(arrival - last_);
    const double deviation = gap - gap_mean_;
    gap_mean_ += deviation / static_cast<double>(count_);  // this is gap number count_
    gap_squares_ += deviation * (gap - gap_mean_);
  }
  last_ = arrival;
  ++count_;
  seconds_.add(arrival - first_);
  minutes_.add(arrival - first_);
}

ArrivalFigures ArrivalStatistics::figures() const {
  ArrivalFigures figures;
  figures.duration = last_ - first_;
  figures.peak_per_second = seconds_.peak();
  figures.peak_per_minute = minutes_.peak();
  if (figures.duration.value() > 0) {
    const auto gaps = static_cast<double>(count_ - 1);
    figures.mean_per_second = gaps / recto::seconds(figures.duration);
    figures.gap_variation = std::sqrt(gap_squares_ / gaps) / gap_mean_;
  }
  return figures;
}

}  // namespace recto::sim
