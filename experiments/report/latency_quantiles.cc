#include "experiments/report/latency_quantiles.h"

#include <algorithm>

namespace recto::experiments {

std::vector<std::int64_t> quantile_per_mille() {
  std::vector<std::int64_t> quantiles{1};
  for (std::int64_t per_mille = 10; per_mille <= 990; per_mille += 10) {
    quantiles.push_back(per_mille);
  }
  quantiles.insert(quantiles.end(), {995, 999, 1000});
  return quantiles;
}

void LatencyCollector::Distribution::add(SimDuration latency) {
  histogram.add(latency.value());
  max_ns = std::max(max_ns, latency.value());
}

std::vector<double> LatencyCollector::Distribution::quantiles_s() const {
  std::vector<double> values;
  if (histogram.total_weight() == 0) return values;
  for (const std::int64_t per_mille : quantile_per_mille()) {
    // The middle of the last bucket may lie beyond the largest value seen.
    const std::int64_t ns = std::min(histogram.percentile(per_mille), max_ns);
    values.push_back(seconds(SimDuration(ns)));
  }
  return values;
}

void LatencyCollector::on_finished(const sim::Group& group, SimTime now) {
  const sim::Request& request = group.request;
  queueing_.add(group.admitted - request.arrival);
  ttft_.add(group.first_token - request.arrival);
  end_to_end_.add(now - request.arrival);
  const std::int64_t further = request.output_tokens.value() - 1;
  if (further > 0) tpot_.add(SimDuration((now - group.first_token).value() / further));
}

LatencyQuantiles LatencyCollector::quantiles() const {
  return {.queueing_s = queueing_.quantiles_s(),
          .ttft_s = ttft_.quantiles_s(),
          .tpot_s = tpot_.quantiles_s(),
          .end_to_end_s = end_to_end_.quantiles_s()};
}

}  // namespace recto::experiments
