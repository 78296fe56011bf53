#pragma once

// Means, percentiles and series of the gauges over simulated time. Gauges change only at events;
// between two events each keeps its value, weighted by the nanoseconds between them.

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "core/contract.h"
#include "core/units.h"
#include "sim/metrics/gauges.h"

namespace recto::sim {

// A histogram of bounded memory: exact below 256, then 128 buckets per power of two. A percentile
// is the middle of its bucket, so at most 0.4 % off.
class Histogram {
 public:
  // Adds a non-negative value. The weight is a count, or the nanoseconds for which the value held.
  // O(1).
  void add(std::int64_t value, std::int64_t weight = 1) {
    RECTO_CHECK_GE(value, 0);
    const std::size_t bucket = bucket_of(static_cast<std::uint64_t>(value));
    if (bucket >= weights_.size()) weights_.resize(bucket + kBucketsPerPower);
    weights_[bucket] += weight;
  }

  // O(buckets), as are the functions below.
  std::int64_t total_weight() const;

  // Nearest-rank percentile: the smallest value with at least `per_mille` thousandths of the weight
  // at or below it. 0 for an empty histogram.
  std::int64_t percentile(std::int64_t per_mille) const;

  void merge(const Histogram& other);

 private:
  static constexpr int kPrecisionBits = 7;
  static constexpr std::uint64_t kExactBelow = std::uint64_t{2} << kPrecisionBits;
  static constexpr std::size_t kBucketsPerPower = std::size_t{1} << kPrecisionBits;

  static std::size_t bucket_of(std::uint64_t value) {
    if (value < kExactBelow) return value;
    const int shift = 63 - std::countl_zero(value) - kPrecisionBits;
    return kExactBelow + (static_cast<std::size_t>(shift - 1) << kPrecisionBits) +
           (value >> shift) - (std::uint64_t{1} << kPrecisionBits);
  }
  static std::int64_t middle_of(std::size_t bucket);

  std::vector<std::int64_t> weights_;  // by bucket, up to the largest used one
};

struct GaugeSummary {
  double mean = 0;
  std::int64_t p50 = 0;
  std::int64_t p90 = 0;
  std::int64_t p99 = 0;
  std::int64_t max = 0;

  friend bool operator==(const GaugeSummary&, const GaugeSummary&) = default;
};

// Means over windows of equal length; the last window may be shorter.
struct SeriesWindow {
  SimTime begin;
  SimDuration length;
  std::array<double, kGaugeCount> mean{};

  friend bool operator==(const SeriesWindow&, const SeriesWindow&) = default;
};

struct TimeWeightedOptions {
  SimDuration series_window{kNanosecondsPerSecond};  // doubles when the series grows too long
  std::int64_t series_windows_max = 1024;
};

class TimeWeighted {
 public:
  explicit TimeWeighted(const TimeWeightedOptions& options = {});

  // Advances time to `now` with the present values. O(1), plus O(gauges) per series window.
  void advance(SimTime now);
  // Sets the present values. O(gauges) comparisons; only gauges that change cost more.
  void set(const GaugeValues& values);

  // Summaries cover the time between these two calls; without `open`, there is nothing to
  // summarise.
  void open(SimTime now);
  void close(SimTime now);
  bool is_open() const { return is_open_; }

  // Ends time; the functions below read the results.
  void finish();

  // Summaries of the time between `open` and `close`; of all time since `open` if that is empty.
  std::array<GaugeSummary, kGaugeCount> summaries() const;
  // The length of the time that `summaries` covers.
  SimDuration covered() const;
  bool covers_drain() const { return covers_drain_; }

  std::vector<SeriesWindow> series() const;

 private:
  using Integrals = std::array<__int128, kGaugeCount>;  // value * nanoseconds

  // The sums of one gauge are stored together because they change together.
  struct Sums {
    SimTime since;                  // the sums cover the time up to here
    __int128 integral = 0;          // since time 0
    __int128 integral_at_open = 0;  // the other two start at the value for this
    std::int64_t max = 0;
    Histogram histogram;
  };
  struct Coverage {
    SimTime begin;
    SimTime end;
    std::array<Sums, kGaugeCount> sums;
  };

  void flush(Sums& sums, std::int64_t value);
  void flush_all();
  Integrals integrals() const;
  void pass_series_windows(SimTime now);
  void halve_series();

  TimeWeightedOptions options_;
  GaugeValues values_;  // apart from the sums, because most values are compared and found unchanged
  std::array<Sums, kGaugeCount> sums_;
  SimTime now_;
  bool is_open_ = false;
  SimTime opened_;
  Coverage covered_;
  bool covers_drain_ = true;

  SimDuration series_window_;
  SimTime series_end_;                       // end of the open window
  std::vector<Integrals> series_integrals_;  // at the end of each window
};

}  // namespace recto::sim
