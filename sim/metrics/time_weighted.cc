#include "sim/metrics/time_weighted.h"

#include <algorithm>

#include "core/contract.h"

namespace recto::sim {

TimeWeighted::TimeWeighted(const TimeWeightedOptions& options)
    : options_(options),
      series_window_(options.series_window),
      series_end_(SimTime() + options.series_window) {
  RECTO_CHECK_GT(options.series_window, SimDuration(0));
  RECTO_CHECK_GT(options.series_windows_max, 1);
}

void TimeWeighted::advance(SimTime now) {
  RECTO_CHECK_GE(now, now_);
  const SimDuration elapsed = now - now_;
  if (elapsed.value() == 0) return;
  if (is_open_) accumulate(since_open_, elapsed);
  advance_series(now);
  now_ = now;
}

void TimeWeighted::accumulate(Sums& sums, SimDuration elapsed) {
  sums.length += elapsed;
  for (std::size_t i = 0; i < kGaugeCount; ++i) {
    const std::int64_t value = values_.all()[i];
    sums.integrals[i] += static_cast<__int128>(value) * elapsed.value();
    sums.max[i] = std::max(sums.max[i], value);
    sums.histograms[i].add(value, elapsed.value());
  }
}

void TimeWeighted::open(SimTime now) {
  advance(now);
  is_open_ = true;
}

void TimeWeighted::close(SimTime now) {
  advance(now);
  window_ = since_open_;
}

void TimeWeighted::advance_series(SimTime now) {
  SimTime at = now_;
  while (at < now) {
    const SimTime stop = std::min(now, series_end_);
    const std::int64_t elapsed = (stop - at).value();
    for (std::size_t i = 0; i < kGaugeCount; ++i) {
      open_window_[i] += static_cast<__int128>(values_.all()[i]) * elapsed;
    }
    at = stop;
    if (at < series_end_) return;
    closed_windows_.push_back(open_window_);
    open_window_ = {};
    if (static_cast<std::int64_t>(closed_windows_.size()) == options_.series_windows_max) {
      halve_series();
    }
    series_end_ = series_end_ + series_window_;
  }
}

void TimeWeighted::halve_series() {
  const std::size_t pairs = closed_windows_.size() / 2;
  for (std::size_t pair = 0; pair < pairs; ++pair) {
    for (std::size_t i = 0; i < kGaugeCount; ++i) {
      closed_windows_[pair][i] = closed_windows_[2 * pair][i] + closed_windows_[2 * pair + 1][i];
    }
  }
  // An odd one out becomes the first half of the window that is being filled.
  if (closed_windows_.size() % 2 == 1) {
    open_window_ = closed_windows_.back();
    series_end_ = series_end_ - series_window_;
  }
  closed_windows_.resize(pairs);
  series_window_ = series_window_ * 2;
}

std::array<GaugeSummary, kGaugeCount> TimeWeighted::summaries() const {
  const Sums& sums = covered_sums();
  std::array<GaugeSummary, kGaugeCount> result{};
  if (sums.length.value() == 0) return result;
  for (std::size_t i = 0; i < kGaugeCount; ++i) {
    result[i] = {
        .mean = static_cast<double>(sums.integrals[i]) / static_cast<double>(sums.length.value()),
        .p50 = sums.histograms[i].percentile(500),
        .p90 = sums.histograms[i].percentile(900),
        .p99 = sums.histograms[i].percentile(990),
        .max = sums.max[i]};
  }
  return result;
}

SimDuration TimeWeighted::covered() const { return covered_sums().length; }

std::vector<SeriesWindow> TimeWeighted::series() const {
  std::vector<SeriesWindow> result;
  const auto append = [&](SimTime begin, SimDuration length, const Integrals& integrals) {
    SeriesWindow& window = result.emplace_back();
    window.begin = begin;
    window.length = length;
    for (std::size_t i = 0; i < kGaugeCount; ++i) {
      window.mean[i] = static_cast<double>(integrals[i]) / static_cast<double>(length.value());
    }
  };
  SimTime begin;
  for (const Integrals& integrals : closed_windows_) {
    append(begin, series_window_, integrals);
    begin += series_window_;
  }
  if (now_ > begin) append(begin, now_ - begin, open_window_);
  return result;
}

}  // namespace recto::sim
