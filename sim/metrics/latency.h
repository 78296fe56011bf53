#pragma once

// Latencies of finished requests, in constant memory.

#include <cstdint>
#include <optional>

#include "core/units.h"
#include "sim/metrics/report.h"
#include "sim/metrics/time_weighted.h"

namespace recto::sim {

class LatencyRecorder {
 public:
  void add(SimDuration latency);
  LatencySummary summary() const;
  std::int64_t count() const { return histogram_.total_weight(); }
  // In nanoseconds; the middle of its bucket, but at most the largest latency.
  std::int64_t percentile(std::int64_t per_mille) const;

 private:
  Histogram histogram_;
  __int128 sum_ns_ = 0;
  std::int64_t max_ns_ = 0;
};

// Limits that a request must meet to count as goodput; an absent limit is always met.
struct LatencyLimits {
  std::optional<SimDuration> ttft;
  std::optional<SimDuration> tpot;
};

struct RequestTimes {
  SimTime arrival;
  SimTime admitted;
  SimTime first_token;
  SimTime last_token;
  TokenCount output_tokens;
};

class RequestLatencies {
 public:
  explicit RequestLatencies(const LatencyLimits& limits) : limits_(limits) {}

  void add(const RequestTimes& times);
  void write_to(Report& report) const;

  const LatencyRecorder& queueing() const { return queueing_; }
  const LatencyRecorder& ttft() const { return ttft_; }
  const LatencyRecorder& tpot() const { return tpot_; }
  const LatencyRecorder& end_to_end() const { return end_to_end_; }

 private:
  LatencyLimits limits_;
  LatencyRecorder queueing_;
  LatencyRecorder ttft_;
  LatencyRecorder tpot_;
  LatencyRecorder end_to_end_;
  LatencyRecorder normalized_;
  std::int64_t within_limits_ = 0;
};

}  // namespace recto::sim
