#include "experiments/sweep/sweep_columns.h"

#include <cstdint>
#include <limits>
#include <utility>

#include "experiments/support/resolved_run.h"
#include "sim/metrics/gauges.h"
#include "sim/metrics/report.h"

namespace recto::experiments {
namespace {

using sim::Gauge;
using sim::Report;
using Latency = sim::LatencySummary;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

template <auto kMember>
double figure(const MeasuredRun& run) {
  return run.figures.*kMember;
}

// Time-weighted mean, as a share of the pool.
template <double PoolShares::*kState>
double share(const MeasuredRun& run) {
  return run.figures.shares.*kState;
}

template <Gauge kGauge>
double gauge_share(const MeasuredRun& run) {
  return mean_share(run.outcome.report, kGauge);
}

template <Gauge kGauge>
double gauge_mean(const MeasuredRun& run) {
  return run.outcome.report.gauge(kGauge).mean;
}

template <std::int64_t sim::Counters::*kCounter>
double count(const MeasuredRun& run) {
  return static_cast<double>(run.outcome.report.counters.*kCounter);
}

// Of requests that have it: a request of one token has no time per further token.
template <Latency Report::*kLatency>
double latency_mean_s(const MeasuredRun& run) {
  const Latency& latency = run.outcome.report.*kLatency;
  if (latency.count == 0) return kNone;
  return latency.mean_ns / static_cast<double>(kNanosecondsPerSecond);
}

template <Latency Report::*kLatency, std::int64_t Latency::*kPercentile>
double latency_s(const MeasuredRun& run) {
  const Latency& latency = run.outcome.report.*kLatency;
  if (latency.count == 0) return kNone;
  return seconds(SimDuration(latency.*kPercentile));
}

double pool_slots(const MeasuredRun& run) {
  return static_cast<double>(run.outcome.report.pool_slots.value());
}
double window_tokens(const MeasuredRun& run) {
  return static_cast<double>(run.outcome.window_tokens);
}
double makespan_s(const MeasuredRun& run) { return seconds(run.outcome.report.makespan); }
double skipped_rows(const MeasuredRun& run) {
  return static_cast<double>(run.outcome.skipped_rows);
}
// 1 where the means are over the drain too: everything had arrived before the first admission.
double covers_drain(const MeasuredRun& run) { return run.outcome.report.covers_drain ? 1 : 0; }
double internal_share(const MeasuredRun& run) { return run.figures.shares.internal(); }
double preemptions(const MeasuredRun& run) {
  return count<&sim::Counters::preemptions_recompute>(run) +
         count<&sim::Counters::preemptions_swap>(run);
}

constexpr SweepColumn kColumns[] = {
    {"pool_slots", pool_slots},
    {"window_tokens", window_tokens},
    {"requests_finished", count<&sim::Counters::requests_finished>},
    {"requests_rejected", count<&sim::Counters::requests_rejected>},
    {"requests_within_limits", count<&sim::Counters::requests_within_limits>},
    {"skipped_rows", skipped_rows},
    {"makespan_s", makespan_s},
    {"requests_per_s", figure<&Figures::requests_per_s>},
    {"output_tokens_per_s", figure<&Figures::output_tokens_per_s>},
    {"goodput_per_s", figure<&Figures::goodput_per_s>},
    {"queueing_mean_s", latency_mean_s<&Report::queueing>},
    {"queueing_p50_s", latency_s<&Report::queueing, &Latency::p50_ns>},
    {"queueing_p90_s", latency_s<&Report::queueing, &Latency::p90_ns>},
    {"queueing_p99_s", latency_s<&Report::queueing, &Latency::p99_ns>},
    {"ttft_mean_s", latency_mean_s<&Report::ttft>},
    {"ttft_p50_s", latency_s<&Report::ttft, &Latency::p50_ns>},
    {"ttft_p90_s", latency_s<&Report::ttft, &Latency::p90_ns>},
    {"ttft_p99_s", latency_s<&Report::ttft, &Latency::p99_ns>},
    {"tpot_mean_s", latency_mean_s<&Report::tpot>},
    {"tpot_p50_s", latency_s<&Report::tpot, &Latency::p50_ns>},
    {"tpot_p90_s", latency_s<&Report::tpot, &Latency::p90_ns>},
    {"tpot_p99_s", latency_s<&Report::tpot, &Latency::p99_ns>},
    {"latency_mean_s", latency_mean_s<&Report::end_to_end>},
    {"latency_p50_s", latency_s<&Report::end_to_end, &Latency::p50_ns>},
    {"latency_p90_s", latency_s<&Report::end_to_end, &Latency::p90_ns>},
    {"latency_p99_s", latency_s<&Report::end_to_end, &Latency::p99_ns>},
    {"normalized_latency_mean_s", latency_mean_s<&Report::normalized>},
    {"normalized_latency_p50_s", latency_s<&Report::normalized, &Latency::p50_ns>},
    {"normalized_latency_p90_s", latency_s<&Report::normalized, &Latency::p90_ns>},
    {"normalized_latency_p99_s", latency_s<&Report::normalized, &Latency::p99_ns>},
    {"covers_drain", covers_drain},
    {"used_share", share<&PoolShares::used>},
    {"reserved_share", share<&PoolShares::reserved>},
    {"internal_share", internal_share},
    {"over_reservation_share", share<&PoolShares::over_reservation>},
    {"rounding_share", share<&PoolShares::rounding>},
    {"tail_share", share<&PoolShares::tail>},
    {"out_of_window_share", share<&PoolShares::out_of_window>},
    {"cached_share", share<&PoolShares::cached>},
    {"free_share", share<&PoolShares::free>},
    {"overhead_share", share<&PoolShares::overhead>},
    {"used_of_held_share", figure<&Figures::used_of_held>},
    {"blocked_free_share", gauge_share<Gauge::kBlockedFree>},
    {"unplaceable_free_share", gauge_share<Gauge::kUnplaceableFree>},
    {"largest_hole_share", gauge_share<Gauge::kLargestHole>},
    {"sharing_saving_share", figure<&Figures::sharing_saving>},
    {"table_bytes_mean", figure<&Figures::table_bytes_mean>},
    {"table_bytes_max", figure<&Figures::table_bytes_max>},
    {"running_requests_mean", gauge_mean<Gauge::kRunningRequests>},
    {"running_sequences_mean", gauge_mean<Gauge::kRunningSequences>},
    {"waiting_requests_mean", gauge_mean<Gauge::kWaitingRequests>},
    {"preemptions", preemptions},
    {"recomputed_tokens", count<&sim::Counters::recomputed_tokens>},
    {"swapped_out_slots", count<&sim::Counters::swapped_out_slots>},
    {"copied_slots", count<&sim::Counters::copied_slots>},
    {"copied_bytes", figure<&Figures::copied_bytes>},
    {"prefix_hit_share", figure<&Figures::prefix_hit_share>},
    {"first_hit_share", figure<&Figures::first_hit_share>},
    {"prefix_flops_saved", figure<&Figures::prefix_flops_saved>},
    {"steps", count<&sim::Counters::steps>},
};

}  // namespace

std::span<const SweepColumn> sweep_columns() { return kColumns; }

Result<std::vector<double>> measure(const RunConfig& config) {
  const Result<ResolvedRun> resolved = resolve(config);
  RECTO_RETURN_IF_ERROR(resolved.status());
  Result<RunOutcome> outcome = run(config);
  RECTO_RETURN_IF_ERROR(outcome.status());
  const Figures figures = make_figures(outcome.value().report, resolved.value());
  const MeasuredRun measured{std::move(outcome).value(), figures};
  std::vector<double> values;
  for (const SweepColumn& column : kColumns) values.push_back(column.value(measured));
  return values;
}

}  // namespace recto::experiments
