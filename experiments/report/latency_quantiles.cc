#include "experiments/report/latency_quantiles.h"

#include "experiments/report/report_metrics.h"

namespace recto::experiments {
namespace {

Json quantiles_s(const sim::LatencyRecorder& latency) {
  Json values = Json::array();
  if (latency.count() == 0) return values;
  for (const std::int64_t per_mille : quantile_per_mille()) {
    values.push_back(rounded(seconds(SimDuration(latency.percentile(per_mille)))));
  }
  return values;
}

}  // namespace

std::vector<std::int64_t> quantile_per_mille() {
  std::vector<std::int64_t> quantiles{1};
  for (std::int64_t per_mille = 10; per_mille <= 990; per_mille += 10) {
    quantiles.push_back(per_mille);
  }
  quantiles.insert(quantiles.end(), {995, 999, 1000});
  return quantiles;
}

void LatencyQuantiles::on_finished(const sim::SequenceGroup& group, SimTime now) {
  latencies_.add({.arrival = group.request.arrival,
                  .admitted = group.admitted,
                  .first_token = group.first_token,
                  .last_token = now,
                  .output_tokens = group.request.output_tokens});
}

Json LatencyQuantiles::json() const {
  return {{"queueing", quantiles_s(latencies_.queueing())},
          {"ttft", quantiles_s(latencies_.ttft())},
          {"tpot", quantiles_s(latencies_.tpot())},
          {"end_to_end", quantiles_s(latencies_.end_to_end())}};
}

}  // namespace recto::experiments
