#include "experiments/report/report_metrics.h"

#include <fmt/format.h>

#include <cstdlib>
#include <optional>
#include <string>
#include <utility>

namespace recto::experiments {
namespace {

constexpr double kNs = 1e-9;
constexpr std::string_view kPool = "report.pool_slots";

constexpr ReportMetric latency(std::string_view name, std::string_view column,
                               MetricKind kind = MetricKind::kLatency) {
  return {.name = name, .column = column, .kind = kind};
}

// In ns; 0 where its requests, which `count` counts, are none.
constexpr ReportMetric latency_ns(std::string_view name, std::string_view column,
                                  std::string_view count) {
  return {.name = name,
          .column = column,
          .scale = kNs,
          .kind = MetricKind::kLatencyOfSome,
          .count_column = count};
}

constexpr ReportMetric kFragmentationMetrics[] = {
    {"used", "figures.mean_shares.used"},
    {"reserved", "figures.mean_shares.reserved"},
    {"internal", "figures.mean_shares.internal"},
    {"cached", "figures.mean_shares.cached"},
    {"free", "figures.mean_shares.free"},
    {"overhead", "figures.mean_shares.overhead"},
    {"blocked_free", "report.gauges.blocked_free_slots.mean", 1, {}, kPool},
    {"unplaceable_free", "report.gauges.unplaceable_free_slots.mean", 1, {}, kPool},
    {"running", "report.gauges.running_requests.mean"},
    {"waiting", "report.gauges.waiting_requests.mean"},
    {"preemptions", "report.counters.preemptions_recompute", 1, "report.counters.preemptions_swap"},
    {"requests_finished", "report.counters.requests_finished"},
    {"requests_rejected", "report.counters.requests_rejected"},
    {"output_tokens_per_s", "figures.output_tokens_per_s"},
    {"goodput_per_s", "figures.goodput_per_s"},
    latency_ns("queueing_p50_s", "report.queueing.p50_ns", "report.queueing.count"),
    latency_ns("queueing_p99_s", "report.queueing.p99_ns", "report.queueing.count"),
    latency_ns("ttft_p50_s", "report.ttft.p50_ns", "report.ttft.count"),
    latency_ns("ttft_p99_s", "report.ttft.p99_ns", "report.ttft.count"),
    latency_ns("tpot_p50_s", "report.tpot.p50_ns", "report.tpot.count"),
    latency_ns("tpot_p99_s", "report.tpot.p99_ns", "report.tpot.count"),
    latency_ns("latency_p50_s", "report.end_to_end.p50_ns", "report.end_to_end.count"),
    latency_ns("latency_p99_s", "report.end_to_end.p99_ns", "report.end_to_end.count"),
    latency_ns("normalized_mean_s", "report.normalized.mean_ns", "report.normalized.count"),
    {"prefix_hit", "figures.first_hit_share"},
    {"sharing_saving", "figures.sharing_saving", 1, {}, {}, MetricKind::kSigned},
    {"table_bytes", "figures.table_bytes_mean"},
    {"copied_bytes", "figures.copied_bytes"},
};

constexpr ReportMetric kSweepMetrics[] = {
    {"used", "used_share"},
    {"reserved", "reserved_share"},
    {"internal", "internal_share"},
    {"cached", "cached_share"},
    {"free", "free_share"},
    {"overhead", "overhead_share"},
    {"blocked_free", "blocked_free_share"},
    {"unplaceable_free", "unplaceable_free_share"},
    {"running", "running_requests_mean"},
    {"waiting", "waiting_requests_mean"},
    {"preemptions", "preemptions"},
    {"requests_finished", "requests_finished"},
    {"requests_rejected", "requests_rejected"},
    {"output_tokens_per_s", "output_tokens_per_s"},
    {"goodput_per_s", "goodput_per_s"},
    latency("queueing_p50_s", "queueing_p50_s"),
    latency("queueing_p99_s", "queueing_p99_s"),
    latency("ttft_p50_s", "ttft_p50_s"),
    latency("ttft_p99_s", "ttft_p99_s"),
    latency("tpot_p50_s", "tpot_p50_s", MetricKind::kLatencyOfSome),
    latency("tpot_p99_s", "tpot_p99_s", MetricKind::kLatencyOfSome),
    latency("latency_p50_s", "latency_p50_s"),
    latency("latency_p99_s", "latency_p99_s"),
    latency("normalized_mean_s", "normalized_latency_mean_s"),
    {"prefix_hit", "first_hit_share"},
    {"sharing_saving", "sharing_saving_share", 1, {}, {}, MetricKind::kSigned},
    {"table_bytes", "table_bytes_mean"},
    {"copied_bytes", "copied_bytes"},
};

constexpr std::string_view kInterval = "_ci95";

bool is_latency(MetricKind kind) {
  return kind == MetricKind::kLatency || kind == MetricKind::kLatencyOfSome;
}

// A field of the table; nullopt if it is empty, which only a latency may be.
Result<std::optional<double>> field_of(const ResultsTable& table, std::size_t row,
                                       std::string_view column, MetricKind kind) {
  if (!table.has(column)) return table.no_column(column);
  const auto number = table.number(row, column);
  RECTO_RETURN_IF_ERROR(number.status());
  if (!number.value()) {
    if (is_latency(kind)) return number;
    return table.refusal(row, column, "a number");
  }
  if (*number.value() < 0 && kind != MetricKind::kSigned) {
    return table.refusal(row, column, "a number from 0");
  }
  return number;
}

// With `suffix` the half-width of the value's interval; that of a sum is at most the sum of theirs.
Result<std::optional<double>> value_of(const ResultsTable& table, std::size_t row,
                                       const ReportMetric& metric, std::string_view suffix) {
  const auto with_suffix = [&](std::string_view column) {
    return std::string(column) + std::string(suffix);
  };
  if (!metric.count_column.empty()) {
    const auto count = field_of(table, row, metric.count_column, MetricKind::kAmount);
    RECTO_RETURN_IF_ERROR(count.status());
    if (count.value().value_or(0) == 0) return std::optional<double>();
  }
  const auto column = field_of(table, row, with_suffix(metric.column), metric.kind);
  RECTO_RETURN_IF_ERROR(column.status());
  if (!column.value()) return column;
  double value = *column.value() * metric.scale;
  if (!metric.and_column.empty()) {
    const auto more = field_of(table, row, with_suffix(metric.and_column), metric.kind);
    RECTO_RETURN_IF_ERROR(more.status());
    value += more.value().value_or(0) * metric.scale;
  }
  if (metric.per.empty()) return std::optional<double>(value);
  const auto whole = field_of(table, row, metric.per, MetricKind::kAmount);
  RECTO_RETURN_IF_ERROR(whole.status());
  if (whole.value().value_or(0) <= 0) return table.refusal(row, metric.per, "a number above 0");
  return std::optional<double>(value / *whole.value());
}

// Latencies are there if requests finished. Under several seeds there is none if any seed has none.
Status check_latency(const ResultsTable& table, std::size_t row, const ReportMetric& metric,
                     bool is_known) {
  constexpr std::string_view kFinished = "requests_finished";
  const bool has_seeds = table.has(std::string(kFinished) + std::string(kInterval));
  if (is_known || has_seeds || !table.has(kFinished)) return Status::ok();
  const auto finished = table.number(row, kFinished);
  RECTO_RETURN_IF_ERROR(finished.status());
  if (finished.value().value_or(0) == 0) return Status::ok();
  return table.refusal(row, metric.column, "a number, as requests finished");
}

}  // namespace

std::span<const ReportMetric> fragmentation_metrics() { return kFragmentationMetrics; }
std::span<const ReportMetric> sweep_metrics() { return kSweepMetrics; }

double rounded(double value) { return std::strtod(fmt::format("{:.5g}", value).c_str(), nullptr); }

Result<Json> metrics_json(const ResultsTable& table, std::size_t row,
                          std::span<const ReportMetric> metrics) {
  Json json = Json::object();
  for (const ReportMetric& metric : metrics) {
    const auto value = value_of(table, row, metric, "");
    RECTO_RETURN_IF_ERROR(value.status());
    if (metric.kind == MetricKind::kLatency) {
      RECTO_RETURN_IF_ERROR(check_latency(table, row, metric, value.value().has_value()));
    }
    const std::string name(metric.name);
    json[name] = value.value() ? Json(rounded(*value.value())) : Json();
    if (!table.has(std::string(metric.column) + std::string(kInterval))) continue;
    const auto half_width = value_of(table, row, metric, kInterval);
    RECTO_RETURN_IF_ERROR(half_width.status());
    json[name + std::string(kInterval)] =
        half_width.value() ? Json(rounded(*half_width.value())) : Json();
  }
  return json;
}

Result<Json> metrics_by_seed_json(const ResultsTable& table,
                                  std::span<const ResultsTable> seed_tables, std::size_t row,
                                  std::span<const ReportMetric> metrics) {
  Result<Json> json = metrics_json(table, row, metrics);
  RECTO_RETURN_IF_ERROR(json.status());
  for (const ResultsTable& seed_table : seed_tables) {
    Result<Json> seed = metrics_json(seed_table, row, metrics);
    RECTO_RETURN_IF_ERROR(seed.status());
    json.value()["by_seed"].push_back(std::move(seed).value());
  }
  return json;
}

Json no_metrics(std::span<const ReportMetric> metrics) {
  Json json = Json::object();
  for (const ReportMetric& metric : metrics) json[std::string(metric.name)] = Json();
  return json;
}

}  // namespace recto::experiments
