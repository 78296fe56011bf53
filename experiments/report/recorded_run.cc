#include "experiments/report/recorded_run.h"

#include <algorithm>
#include <memory>
#include <tuple>
#include <utility>

#include "experiments/report/map_recorder.h"
#include "experiments/support/request_source.h"
#include "experiments/support/resolved_run.h"
#include "sim/metrics/gauges.h"
#include "sim/simulator.h"

namespace recto::experiments {
namespace {

// Ordered by the queue, then by what is held.
std::tuple<double, double> pressure(const sim::SeriesWindow& window) {
  const auto mean = [&](sim::Gauge gauge) { return window.mean[static_cast<std::size_t>(gauge)]; };
  return {mean(sim::Gauge::kWaitingRequests), -mean(sim::Gauge::kFree)};
}

}  // namespace

SimTime end_of(const sim::Report& report) {
  if (report.series.empty()) return SimTime();
  return report.series.back().begin + report.series.back().length;
}

Result<RecordedRun> run_and_record(const RunConfig& config) {
  LatencyCollector latency;
  Result<RunOutcome> outcome = run(config, &latency);
  RECTO_RETURN_IF_ERROR(outcome.status());
  return RecordedRun{.outcome = std::move(outcome).value(), .latency = latency.quantiles()};
}

Result<MemoryMap> record_map(const RunConfig& config, const sim::Report& report,
                             SimTime detail_begin) {
  const Result<ResolvedRun> resolved = resolve(config);
  RECTO_RETURN_IF_ERROR(resolved.status());
  const Result<std::unique_ptr<sim::TimeModel>> time_model = make_time_model(resolved.value());
  RECTO_RETURN_IF_ERROR(time_model.status());
  Result<OpenedSource> source = open_source(config);
  RECTO_RETURN_IF_ERROR(source.status());
  Result<std::unique_ptr<sim::Allocator>> allocator = make_allocator(resolved.value());
  RECTO_RETURN_IF_ERROR(allocator.status());
  MapRecorder recorder({.end = end_of(report),
                        .detail_begin = detail_begin,
                        .null_blocks = is_contiguous(config) ? 0 : config.null_blocks,
                        .window = resolved.value().options.scheduler.window.value()});
  const auto watched = recorder.watch(std::move(allocator).value());
  const Result<sim::Report> again = sim::simulate(
      *source.value().requests, *watched, *time_model.value(), resolved.value().options, &recorder);
  RECTO_RETURN_IF_ERROR(again.status());
  return recorder.finish();
}

Result<MemoryMap> record_map_whole_or_from(const RunConfig& config, const sim::Report& report,
                                           SimTime begin) {
  Result<MemoryMap> whole = record_map(config, report, SimTime());
  if (!whole.is_ok() || whole.value().detail.end == whole.value().end) return whole;
  return record_map(config, report, begin);
}

SimTime busiest_moment(const sim::Report& report) {
  if (report.series.empty()) return SimTime();
  const auto busiest = std::ranges::max_element(report.series, {}, pressure);
  // Begin a fiftieth of the run earlier.
  const std::int64_t lead = (end_of(report) - SimTime()).value() / 50;
  return SimTime(std::max<std::int64_t>((busiest->begin - SimTime()).value() - lead, 0));
}

}  // namespace recto::experiments
