#include "sim/metrics/time_weighted.h"

#include <algorithm>
#include <numeric>

#include "core/contract.h"

namespace recto::sim {
std::int64_t Histogram::middle_of(std::size_t bucket) {
  if (bucket < kExactBelow) return static_cast<std::int64_t>(bucket);
  const std::size_t beyond = bucket - kExactBelow;
  const int shift = static_cast<int>(beyond >> kPrecisionBits) + 1;
  const std::uint64_t mantissa =
      (beyond & ((std::size_t{1} << kPrecisionBits) - 1)) + (std::uint64_t{1} << kPrecisionBits);
  return static_cast<std::int64_t>((mantissa << shift) + (std::uint64_t{1} << (shift - 1)));
}

std::int64_t Histogram::total_weight() const {
  return std::accumulate(weights_.begin(), weights_.end(), std::int64_t{0});
}

std::int64_t Histogram::percentile(std::int64_t per_mille) const {
  RECTO_CHECK_GE(per_mille, 0);
  RECTO_CHECK_LE(per_mille, 1000);
  const std::int64_t total = total_weight();
  if (total == 0) return 0;
  // Uses 128 bits, because nanoseconds of weight times 1000 may exceed 2^63.
  const auto rank =
      static_cast<std::int64_t>((static_cast<__int128>(total) * per_mille + 999) / 1000);
  std::int64_t seen = 0;
  for (std::size_t bucket = 0; bucket < weights_.size(); ++bucket) {
    seen += weights_[bucket];
    if (weights_[bucket] > 0 && seen >= rank) return middle_of(bucket);
  }
  RECTO_UNREACHABLE("the buckets hold the total weight");
}

void Histogram::merge(const Histogram& other) {
  weights_.resize(std::max(weights_.size(), other.weights_.size()));
  for (std::size_t bucket = 0; bucket < other.weights_.size(); ++bucket) {
    weights_[bucket] += other.weights_[bucket];
  }
}

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
    if (values.all()[i] != values_.all()[i]) flush(sums_[i], values_.all()[i]);
  }
  values_ = values;
}

// Adds the time since the gauge's last change.
void TimeWeighted::flush(Sums& sums, std::int64_t value) {
  const std::int64_t elapsed = (now_ - sums.since).value();
  if (elapsed == 0) return;
  sums.integral += static_cast<__int128>(value) * elapsed;
  sums.since = now_;
  if (!is_open_) return;
  sums.max = std::max(sums.max, value);
  sums.histogram.add(value, elapsed);
}

void TimeWeighted::flush_all() {
  for (std::size_t i = 0; i < kGaugeCount; ++i) flush(sums_[i], values_.all()[i]);
}

void TimeWeighted::open(SimTime now) {
  advance(now);
  flush_all();
  is_open_ = true;
  opened_ = now;
  for (Sums& sums : sums_) sums.integral_at_open = sums.integral;
}

void TimeWeighted::close(SimTime now) {
  RECTO_CHECK(is_open_);
  advance(now);
  flush_all();
  covered_ = {.begin = opened_, .end = now, .sums = sums_};
  covers_drain_ = now == opened_;
}

void TimeWeighted::finish() {
  flush_all();
  if (covers_drain_) covered_ = {.begin = opened_, .end = now_, .sums = sums_};
}

TimeWeighted::Integrals TimeWeighted::integrals() const {
  Integrals integrals{};
  for (std::size_t i = 0; i < kGaugeCount; ++i) integrals[i] = sums_[i].integral;
  return integrals;
}

void TimeWeighted::pass_series_windows(SimTime now) {
  while (now >= series_end_) {
    now_ = series_end_;
    flush_all();
    series_integrals_.push_back(integrals());
    if (static_cast<std::int64_t>(series_integrals_.size()) == options_.series_windows_max) {
      halve_series();
    }
    series_end_ =
        SimTime() + series_window_ * (static_cast<std::int64_t>(series_integrals_.size()) + 1);
  }
}

// Keeps the end of every second window; an odd last window stays open.
void TimeWeighted::halve_series() {
  const std::size_t pairs = series_integrals_.size() / 2;
  for (std::size_t pair = 0; pair < pairs; ++pair) {
    series_integrals_[pair] = series_integrals_[2 * pair + 1];
  }
  series_integrals_.resize(pairs);
  series_window_ = series_window_ * 2;
}

std::array<GaugeSummary, kGaugeCount> TimeWeighted::summaries() const {
  const auto length = static_cast<double>(covered().value());
  std::array<GaugeSummary, kGaugeCount> result{};
  if (length == 0) return result;
  for (std::size_t i = 0; i < kGaugeCount; ++i) {
    const Sums& sums = covered_.sums[i];
    // The middle of the last bucket may exceed the largest value.
    const auto at_most_max = [&sums](std::int64_t per_mille) {
      return std::min(sums.histogram.percentile(per_mille), sums.max);
    };
    result[i] = {.mean = static_cast<double>(sums.integral - sums.integral_at_open) / length,
                 .p50 = at_most_max(500),
                 .p90 = at_most_max(900),
                 .p99 = at_most_max(990),
                 .max = sums.max};
  }
  return result;
}

SimDuration TimeWeighted::covered() const { return covered_.end - covered_.begin; }

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
  if (now_ > begin) append(now_, integrals());
  return result;
}

}  // namespace recto::sim
