#include "experiments/report/report_metrics.h"

#include <fmt/format.h>

#include <cstdlib>
#include <optional>
#include <utility>

#include "core/contract.h"
#include "experiments/support/resolved_run.h"

namespace recto::experiments {
namespace {

constexpr ReportMetric kMetrics[] = {
    {"used", "used_share", "figures.mean_shares.used"},
    {"reserved", "reserved_share", "figures.mean_shares.reserved"},
    {"internal", "internal_share", "figures.mean_shares.internal"},
    {"cached", "cached_share", "figures.mean_shares.cached"},
    {"free", "free_share", "figures.mean_shares.free"},
    {"overhead", "overhead_share", "figures.mean_shares.overhead"},
    {"blocked_free", "blocked_free_share", "report.gauges.blocked_free_slots.mean"},
    {"unplaceable_free", "unplaceable_free_share", "report.gauges.unplaceable_free_slots.mean"},
    {"running", "running_requests_mean", "report.gauges.running_requests.mean"},
    {"waiting", "waiting_requests_mean", "report.gauges.waiting_requests.mean"},
    {"preemptions", "preemptions", "report.counters.preemptions_recompute",
     "report.counters.preemptions_swap"},
    {"requests_finished", "requests_finished", "report.counters.requests_finished"},
    {"requests_rejected", "requests_rejected", "report.counters.requests_rejected"},
    {"output_tokens_per_s", "output_tokens_per_s", "figures.output_tokens_per_s"},
    {"goodput_per_s", "goodput_per_s", "figures.goodput_per_s"},
    {"queueing_p50_s", "queueing_p50_s", "report.queueing.p50_ns"},
    {"queueing_p90_s", "queueing_p90_s", "report.queueing.p90_ns"},
    {"queueing_p99_s", "queueing_p99_s", "report.queueing.p99_ns"},
    {"ttft_p50_s", "ttft_p50_s", "report.ttft.p50_ns"},
    {"ttft_p90_s", "ttft_p90_s", "report.ttft.p90_ns"},
    {"ttft_p99_s", "ttft_p99_s", "report.ttft.p99_ns"},
    {"tpot_mean_s", "tpot_mean_s", "report.tpot.mean_ns"},
    {"tpot_p50_s", "tpot_p50_s", "report.tpot.p50_ns"},
    {"tpot_p90_s", "tpot_p90_s", "report.tpot.p90_ns"},
    {"tpot_p99_s", "tpot_p99_s", "report.tpot.p99_ns"},
    {"latency_p50_s", "latency_p50_s", "report.end_to_end.p50_ns"},
    {"latency_p99_s", "latency_p99_s", "report.end_to_end.p99_ns"},
    {"normalized_mean_s", "normalized_latency_mean_s", "report.normalized.mean_ns"},
    {"normalized_p50_s", "normalized_latency_p50_s", "report.normalized.p50_ns"},
    {"normalized_p90_s", "normalized_latency_p90_s", "report.normalized.p90_ns"},
    {"normalized_p99_s", "normalized_latency_p99_s", "report.normalized.p99_ns"},
    {"prefix_hit", "first_hit_share", "figures.first_hit_share"},
    {"sharing_saving", "sharing_saving_share", "figures.sharing_saving"},
    {"table_bytes", "table_bytes_mean", "figures.table_bytes_mean"},
    {"copied_bytes", "copied_bytes", "figures.copied_bytes"},
};

constexpr std::string_view kInterval = "_ci95";
constexpr std::string_view kPoolSlots = "report.pool_slots";

bool is_ns(std::string_view column) { return column.ends_with("_ns"); }
bool is_gauge(std::string_view column) { return column.ends_with("_slots.mean"); }

// The column with the count of the latency whose percentile or mean is in `column`.
std::string count_column(std::string_view column) {
  return std::string(column.substr(0, column.rfind('.'))) + ".count";
}

struct MetricRow {
  const ResultsTable& table;
  MetricColumn column;
  std::size_t row;
  std::optional<std::size_t> seed;

  // With `suffix` the half-width of the value's interval; for a sum, the sum of half-widths is an
  // upper bound.
  std::optional<double> value(const ReportMetric& metric, std::string_view suffix) const {
    const auto number = [&](std::string_view name) {
      return table.number(row, std::string(name) + std::string(suffix), seed);
    };
    const std::string_view name = metric.*column;
    std::optional<double> value = number(name);
    if (!value) return value;
    if (is_ns(name)) {  // 0 where its requests are none
      if (table.number(row, count_column(name), seed) == 0.0) return std::nullopt;
      *value *= 1e-9;
    }
    if (is_gauge(name)) *value /= table.number(row, kPoolSlots, seed).value_or(1);
    if (column == &ReportMetric::study && !metric.study_plus.empty()) {
      *value += number(metric.study_plus).value_or(0);
    }
    return value;
  }
};

const char* word_of(sim::CurvePart part) {
  switch (part) {
    case sim::CurvePart::kBelowFirst:
      return "as the smallest";
    case sim::CurvePart::kAtPoint:
      return "measured";
    case sim::CurvePart::kBetween:
      return "interpolated";
    case sim::CurvePart::kBeyondLast:
      return "extrapolated";
  }
  RECTO_UNREACHABLE("part of a curve");
}

}  // namespace

std::span<const ReportMetric> report_metrics() { return kMetrics; }

double rounded(double value) { return std::strtod(fmt::format("{:.5g}", value).c_str(), nullptr); }

Status expect_metrics(const ResultsTable& table, MetricColumn column) {
  for (const ReportMetric& metric : kMetrics) {
    const std::string_view name = metric.*column;
    RECTO_RETURN_IF_ERROR(table.expect(name));
    if (is_ns(name)) RECTO_RETURN_IF_ERROR(table.expect(count_column(name)));
    if (is_gauge(name)) RECTO_RETURN_IF_ERROR(table.expect(kPoolSlots));
    if (column == &ReportMetric::study && !metric.study_plus.empty()) {
      RECTO_RETURN_IF_ERROR(table.expect(metric.study_plus));
    }
  }
  return Status::ok();
}

Json metrics_json(const ResultsTable& table, MetricColumn column, std::size_t row,
                  std::optional<std::size_t> seed) {
  const MetricRow of{table, column, row, seed};
  const auto json_of = [](const std::optional<double>& value) {
    return value ? Json(rounded(*value)) : Json();
  };
  Json json = Json::object();
  for (const ReportMetric& metric : kMetrics) {
    json[metric.name] = json_of(of.value(metric, ""));
    if (seed || !table.has(std::string(metric.*column) + std::string(kInterval))) continue;
    json[std::string(metric.name) + std::string(kInterval)] = json_of(of.value(metric, kInterval));
  }
  return json;
}

Json metrics_by_seed_json(const ResultsFolder& folder, std::size_t row) {
  const MetricColumn column = metric_column(folder);
  Json json = metrics_json(folder.table, column, row);
  for (std::int64_t seed = 0; seed < folder.seeds && folder.seeds > 1; ++seed) {
    json[kBySeed].push_back(
        metrics_json(folder.table, column, row, static_cast<std::size_t>(seed)));
  }
  return json;
}

Json no_metrics() {
  Json json = Json::object();
  for (const ReportMetric& metric : kMetrics) json[metric.name] = Json();
  return json;
}

Status add_kernel_time(const RunConfig& config, Json& metrics) {
  metrics["kernel_s"] = nullptr;
  metrics["kernel_basis"] = nullptr;
  if (!config.time_model.starts_with("measured:")) return Status::ok();
  const Result<ResolvedRun> run = resolve(config);
  RECTO_RETURN_IF_ERROR(run.status());
  const Result<std::optional<sim::MeasuredDecode>> decode = full_pool_decode(run.value());
  RECTO_RETURN_IF_ERROR(decode.status());
  if (!decode.value()) return Status::ok();
  metrics["kernel_s"] = rounded(decode.value()->ns * 1e-9);
  metrics["kernel_basis"] = word_of(decode.value()->part);
  return Status::ok();
}

}  // namespace recto::experiments
