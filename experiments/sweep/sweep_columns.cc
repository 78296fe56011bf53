#include "experiments/sweep/sweep_columns.h"

#include <cstdint>
#include <limits>
#include <utility>

#include "experiments/support/run.h"
#include "sim/metrics/gauges.h"
#include "sim/metrics/report.h"

namespace recto::experiments {
namespace {

using sim::Gauge;

using NamedValues = std::vector<std::pair<std::string, double>>;

double number(std::int64_t count) { return static_cast<double>(count); }

void add(const NamedValues& more, NamedValues& values) {
  values.insert(values.end(), more.begin(), more.end());
}

// Over requests that have the latency: a request of one token has no time per further token.
NamedValues latency_values(const std::string& name, const sim::LatencySummary& latency) {
  const auto in_s = [&](double ns) {
    constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
    return latency.count == 0 ? kNone : ns / number(kNanosecondsPerSecond);
  };
  return {{name + "_mean_s", in_s(latency.mean_ns)},
          {name + "_p50_s", in_s(number(latency.p50_ns))},
          {name + "_p90_s", in_s(number(latency.p90_ns))},
          {name + "_p99_s", in_s(number(latency.p99_ns))}};
}

NamedValues service_values(const RunOutcome& outcome) {
  const sim::Report& report = outcome.report;
  const sim::Counters& counters = report.counters;
  NamedValues values{{"pool_slots", number(report.pool_slots.value())},
                     {"window_tokens", number(outcome.window_tokens)},
                     {"requests_finished", number(counters.requests_finished)},
                     {"requests_rejected", number(counters.requests_rejected)},
                     {"requests_within_limits", number(counters.requests_within_limits)},
                     {"skipped_rows", number(outcome.skipped_rows)},
                     {"makespan_s", seconds(report.makespan)},
                     {"requests_per_s", outcome.figures.requests_per_s},
                     {"output_tokens_per_s", outcome.figures.output_tokens_per_s},
                     {"goodput_per_s", outcome.figures.goodput_per_s}};
  add(latency_values("queueing", report.queueing), values);
  add(latency_values("ttft", report.ttft), values);
  add(latency_values("tpot", report.tpot), values);
  add(latency_values("latency", report.end_to_end), values);
  add(latency_values("normalized_latency", report.normalized), values);
  return values;
}

NamedValues memory_values(const RunOutcome& outcome) {
  const sim::Report& report = outcome.report;
  const Figures& figures = outcome.figures;
  // 1 if the means cover the drain, too: all requests had arrived before the first admission.
  NamedValues values{{"covers_drain", report.covers_drain ? 1 : 0}};
  for (const auto& [name, share] : named_shares(figures.shares)) {
    values.emplace_back(name + "_share", share);
  }
  add({{"used_of_held_share", figures.used_of_held},
       {"blocked_free_share", mean_share(report, Gauge::kBlockedFree)},
       {"unplaceable_free_share", mean_share(report, Gauge::kUnplaceableFree)},
       {"largest_hole_share", mean_share(report, Gauge::kLargestHole)},
       {"sharing_saving_share", figures.sharing_saving},
       {"table_bytes_mean", figures.table_bytes_mean},
       {"table_bytes_max", figures.table_bytes_max},
       {"running_requests_mean", report.gauge(Gauge::kRunningRequests).mean},
       {"running_sequences_mean", report.gauge(Gauge::kRunningSequences).mean},
       {"waiting_requests_mean", report.gauge(Gauge::kWaitingRequests).mean}},
      values);
  return values;
}

NamedValues values_of(const RunOutcome& outcome) {
  const sim::Counters& counters = outcome.report.counters;
  const Figures& figures = outcome.figures;
  NamedValues values = service_values(outcome);
  add(memory_values(outcome), values);
  add({{"preemptions", number(counters.preemptions_recompute + counters.preemptions_swap)},
       {"recomputed_tokens", number(counters.recomputed_tokens)},
       {"swapped_out_slots", number(counters.swapped_out_slots)},
       {"copied_slots", number(counters.copied_slots)},
       {"copied_bytes", figures.copied_bytes},
       {"prefix_hit_share", figures.prefix_hit_share},
       {"first_hit_share", figures.first_hit_share},
       {"prefix_flops_saved", figures.prefix_flops_saved},
       {"steps", number(counters.steps)}},
      values);
  return values;
}

}  // namespace

std::span<const std::string> sweep_columns() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names;
    for (const auto& [name, value] : values_of({})) names.push_back(name);
    return names;
  }();
  return kNames;
}

Result<std::vector<double>> measure(const RunConfig& config) {
  const Result<RunOutcome> outcome = run(config);
  RECTO_RETURN_IF_ERROR(outcome.status());
  std::vector<double> values;
  for (const auto& [name, value] : values_of(outcome.value())) values.push_back(value);
  return values;
}

}  // namespace recto::experiments
