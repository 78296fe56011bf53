#include "experiments/report/recorded_run.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "experiments/report/report_metrics.h"
#include "sim/metrics/gauges.h"
#include "sim/metrics/time_weighted.h"
#include "sim/simulator.h"

namespace recto::experiments {
namespace {

struct Distribution {
  sim::Histogram histogram;
  std::int64_t max_ns = 0;

  void add(SimDuration latency) {
    histogram.add(latency.value());
    max_ns = std::max(max_ns, latency.value());
  }

  Json quantiles_s() const {
    Json values = Json::array();
    if (histogram.total_weight() == 0) return values;
    for (const std::int64_t per_mille : quantile_per_mille()) {
      // The middle of the last bucket may lie beyond the largest value seen.
      const std::int64_t ns = std::min(histogram.percentile(per_mille), max_ns);
      values.push_back(rounded(seconds(SimDuration(ns))));
    }
    return values;
  }
};

// Counts latencies as sim/metrics/latency.h does.
struct LatencyCollector final : sim::SimulationObserver {
  Distribution queueing;
  Distribution ttft;
  Distribution tpot;
  Distribution end_to_end;

  void on_finished(const sim::Group& group, SimTime now) override {
    const sim::Request& request = group.request;
    queueing.add(group.admitted - request.arrival);
    ttft.add(group.first_token - request.arrival);
    end_to_end.add(now - request.arrival);
    const std::int64_t further = request.output_tokens.value() - 1;
    if (further > 0) tpot.add(SimDuration((now - group.first_token).value() / further));
  }
};

// Ordered by the queue, then by held slots.
std::tuple<double, double> pressure(const sim::SeriesWindow& window) {
  const auto mean = [&](sim::Gauge gauge) { return window.mean[static_cast<std::size_t>(gauge)]; };
  return {mean(sim::Gauge::kWaitingRequests), -mean(sim::Gauge::kFree)};
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

Result<RecordedRun> run_and_record(const RunConfig& config) {
  LatencyCollector latency;
  Result<RunOutcome> outcome = run(config, &latency);
  RECTO_RETURN_IF_ERROR(outcome.status());
  return RecordedRun{.outcome = std::move(outcome).value(),
                     .latency = {{"queueing", latency.queueing.quantiles_s()},
                                 {"ttft", latency.ttft.quantiles_s()},
                                 {"tpot", latency.tpot.quantiles_s()},
                                 {"end_to_end", latency.end_to_end.quantiles_s()}}};
}

SimTime end_of(const sim::Report& report) {
  if (report.series.empty()) return SimTime();
  return report.series.back().begin + report.series.back().length;
}

SimTime busiest_moment(const sim::Report& report) {
  if (report.series.empty()) return SimTime();
  const auto busiest = std::ranges::max_element(report.series, {}, pressure);
  // Begin a fiftieth of the run earlier.
  const std::int64_t lead = (end_of(report) - SimTime()).value() / 50;
  return SimTime(std::max<std::int64_t>((busiest->begin - SimTime()).value() - lead, 0));
}

}  // namespace recto::experiments
