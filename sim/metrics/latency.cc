#include "sim/metrics/latency.h"

#include <algorithm>

#include "core/contract.h"

namespace recto::sim {

void LatencyRecorder::add(SimDuration latency) {
  histogram_.add(latency.value());
  sum_ns_ += latency.value();
  max_ns_ = std::max(max_ns_, latency.value());
}

std::int64_t LatencyRecorder::percentile(std::int64_t per_mille) const {
  return std::min(histogram_.percentile(per_mille), max_ns_);
}

LatencySummary LatencyRecorder::summary() const {
  if (count() == 0) return {};
  return {.count = count(),
          .mean_ns = static_cast<double>(sum_ns_) / static_cast<double>(count()),
          .p50_ns = percentile(500),
          .p90_ns = percentile(900),
          .p99_ns = percentile(990),
          .max_ns = max_ns_};
}

void RequestLatencies::add(const RequestTimes& times) {
  const std::int64_t outputs = times.output_tokens.value();
  RECTO_CHECK_GE(outputs, 1);
  const SimDuration ttft = times.first_token - times.arrival;
  const SimDuration end_to_end = times.last_token - times.arrival;
  queueing_.add(times.admitted - times.arrival);
  ttft_.add(ttft);
  end_to_end_.add(end_to_end);
  normalized_.add(SimDuration(end_to_end.value() / outputs));
  bool within = !limits_.ttft || ttft <= *limits_.ttft;
  if (outputs > 1) {
    const SimDuration tpot((times.last_token - times.first_token).value() / (outputs - 1));
    tpot_.add(tpot);
    within = within && (!limits_.tpot || tpot <= *limits_.tpot);
  }
  within_limits_ += within ? 1 : 0;
}

void RequestLatencies::write_to(Report& report) const {
  report.queueing = queueing_.summary();
  report.ttft = ttft_.summary();
  report.tpot = tpot_.summary();
  report.end_to_end = end_to_end_.summary();
  report.normalized = normalized_.summary();
  report.counters.requests_within_limits = within_limits_;
}

}  // namespace recto::sim
