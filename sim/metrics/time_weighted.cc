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
  if (now >= series_end_) pass_series_windows(now);
  now_ = now;
}

void TimeWeighted::set(const GaugeValues& values) {
  for (std::size_t i = 0; i < kGaugeCount; ++i) {
    if (values.all()[i] != values_.all()[i]) flush(i);
  }
  values_ = values;
}

// Sums up the time since the gauge last changed.
void TimeWeighted::flush(std::size_t gauge) {
  const std::int64_t elapsed = (now_ - since_[gauge]).value();
  if (elapsed == 0) return;
  const std::int64_t value = values_.all()[gauge];
  integrals_[gauge] += static_cast<__int128>(value) * elapsed;
  since_[gauge] = now_;
  if (!is_open_) return;
  since_open_.max[gauge] = std::max(since_open_.max[gauge], value);
  since_open_.histograms[gauge].add(value, elapsed);
}

void TimeWeighted::flush_all() {
  for (std::size_t i = 0; i < kGaugeCount; ++i) flush(i);
}

void TimeWeighted::open(SimTime now) {
  advance(now);
  flush_all();
  is_open_ = true;
  since_open_.begin = now;
  since_open_.before = integrals_;
}

void TimeWeighted::close(SimTime now) {
  RECTO_CHECK(is_open_);
  advance(now);
  flush_all();
  since_open_.end = now;
  since_open_.after = integrals_;
  window_ = since_open_;
}

void TimeWeighted::finish() {
  flush_all();
  since_open_.end = now_;
  since_open_.after = integrals_;
}

void TimeWeighted::pass_series_windows(SimTime now) {
  while (now >= series_end_) {
    now_ = series_end_;
    flush_all();
    series_integrals_.push_back(integrals_);
    if (static_cast<std::int64_t>(series_integrals_.size()) == options_.series_windows_max) {
      halve_series();
    }
    series_end_ =
        SimTime() + series_window_ * (static_cast<std::int64_t>(series_integrals_.size()) + 1);
  }
}

// Every second end stays; an odd last window goes on being filled.
void TimeWeighted::halve_series() {
  const std::size_t pairs = series_integrals_.size() / 2;
  for (std::size_t pair = 0; pair < pairs; ++pair) {
    series_integrals_[pair] = series_integrals_[2 * pair + 1];
  }
  series_integrals_.resize(pairs);
  series_window_ = series_window_ * 2;
}

std::array<GaugeSummary, kGaugeCount> TimeWeighted::summaries() const {
  const Window& window = covered_window();
  const double length = static_cast<double>((window.end - window.begin).value());
  std::array<GaugeSummary, kGaugeCount> result{};
  if (length == 0) return result;
  for (std::size_t i = 0; i < kGaugeCount; ++i) {
    result[i] = {.mean = static_cast<double>(window.after[i] - window.before[i]) / length,
                 .p50 = window.histograms[i].percentile(500),
                 .p90 = window.histograms[i].percentile(900),
                 .p99 = window.histograms[i].percentile(990),
                 .max = window.max[i]};
  }
  return result;
}

SimDuration TimeWeighted::covered() const { return covered_window().end - covered_window().begin; }

std::vector<SeriesWindow> TimeWeighted::series() const {
  std::vector<SeriesWindow> result;
  Integrals before{};
  SimTime begin;
  const auto append = [&](SimTime end, const Integrals& after) {
    SeriesWindow& window = result.emplace_back();
    window.begin = begin;
    window.length = end - begin;
    const auto length = static_cast<double>(window.length.value());
    for (std::size_t i = 0; i < kGaugeCount; ++i) {
      window.mean[i] = static_cast<double>(after[i] - before[i]) / length;
    }
    before = after;
    begin = end;
  };
  for (const Integrals& after : series_integrals_) append(begin + series_window_, after);
  if (now_ > begin) append(now_, integrals_);
  return result;
}

}  // namespace recto::sim
