#include "experiments/report/report_metrics.h"

#include <fmt/format.h>

#include <cstdlib>
#include <optional>
#include <utility>

#include "core/contract.h"
#include "experiments/support/resolved_run.h"

namespace recto::experiments {
namespace {

constexpr MetricKind kSigned = MetricKind::kSigned;
constexpr MetricKind kLatency = MetricKind::kLatency;
constexpr MetricKind kLatencyOfSome = MetricKind::kLatencyOfSome;

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
    {.name = "preemptions",
     .sweep = "preemptions",
     .study = "report.counters.preemptions_recompute",
     .study_plus = "report.counters.preemptions_swap"},
    {"requests_finished", "requests_finished", "report.counters.requests_finished"},
    {"requests_rejected", "requests_rejected", "report.counters.requests_rejected"},
    {"output_tokens_per_s", "output_tokens_per_s", "figures.output_tokens_per_s"},
    {"goodput_per_s", "goodput_per_s", "figures.goodput_per_s"},
    {"queueing_p50_s", "queueing_p50_s", "report.queueing.p50_ns", kLatency},
    {"queueing_p99_s", "queueing_p99_s", "report.queueing.p99_ns", kLatency},
    {"ttft_p50_s", "ttft_p50_s", "report.ttft.p50_ns", kLatency},
    {"ttft_p99_s", "ttft_p99_s", "report.ttft.p99_ns", kLatency},
    {"tpot_p50_s", "tpot_p50_s", "report.tpot.p50_ns", kLatencyOfSome},
    {"tpot_p99_s", "tpot_p99_s", "report.tpot.p99_ns", kLatencyOfSome},
    {"latency_p50_s", "latency_p50_s", "report.end_to_end.p50_ns", kLatency},
    {"latency_p99_s", "latency_p99_s", "report.end_to_end.p99_ns", kLatency},
    {"normalized_mean_s", "normalized_latency_mean_s", "report.normalized.mean_ns", kLatency},
    {"prefix_hit", "first_hit_share", "figures.first_hit_share"},
    {"sharing_saving", "sharing_saving_share", "figures.sharing_saving", kSigned},
    {"table_bytes", "table_bytes_mean", "figures.table_bytes_mean"},
    {"copied_bytes", "copied_bytes", "figures.copied_bytes"},
};

constexpr std::string_view kInterval = "_ci95";

// A field of the table; nullopt if it is empty, which only a latency may be.
Result<std::optional<double>> field_of(const ResultsTable& table, std::size_t row,
                                       std::string_view column, MetricKind kind) {
  if (!table.has(column)) return table.no_column(column);
  const auto number = table.number(row, column);
  RECTO_RETURN_IF_ERROR(number.status());
  if (!number.value()) {
    if (kind == kLatency || kind == kLatencyOfSome) return number;
    return table.refusal(row, column, "a number");
  }
  if (*number.value() < 0 && kind != kSigned) return table.refusal(row, column, "a number from 0");
  return number;
}

// With `suffix` the half-width of the value's interval; that of a sum is at most the sum of theirs.
Result<std::optional<double>> value_of(const ResultsTable& table, MetricColumn column,
                                       std::size_t row, const ReportMetric& metric,
                                       std::string_view suffix) {
  const std::string name(metric.*column);
  const bool is_ns = name.ends_with("_ns");
  if (is_ns) {  // 0 where its requests are none
    const std::string counted = name.substr(0, name.rfind('.')) + ".count";
    const auto count = field_of(table, row, counted, MetricKind::kAmount);
    RECTO_RETURN_IF_ERROR(count.status());
    if (count.value() == 0.0) return std::optional<double>();
  }
  const auto field = field_of(table, row, name + std::string(suffix), metric.kind);
  RECTO_RETURN_IF_ERROR(field.status());
  if (!field.value()) return field;
  double value = is_ns ? *field.value() * 1e-9 : *field.value();
  if (column == &ReportMetric::study && !metric.study_plus.empty()) {
    const std::string plus = std::string(metric.study_plus) + std::string(suffix);
    const auto more = field_of(table, row, plus, metric.kind);
    RECTO_RETURN_IF_ERROR(more.status());
    value += more.value().value_or(0);
  }
  if (!name.ends_with("_slots.mean")) return std::optional<double>(value);
  constexpr std::string_view kPool = "report.pool_slots";
  const auto pool = field_of(table, row, kPool, MetricKind::kAmount);
  RECTO_RETURN_IF_ERROR(pool.status());
  if (pool.value() == 0.0) return table.refusal(row, kPool, "a number above 0");
  return std::optional<double>(value / *pool.value());
}

// Latencies are there if requests finished. Under several seeds there is none if any seed has none.
Status check_latency(const ResultsTable& table, std::size_t row, std::string_view column,
                     bool is_known) {
  constexpr std::string_view kFinished = "requests_finished";
  const bool has_seeds = table.has(std::string(kFinished) + std::string(kInterval));
  if (is_known || has_seeds || !table.has(kFinished)) return Status::ok();
  const auto finished = table.number(row, kFinished);
  RECTO_RETURN_IF_ERROR(finished.status());
  if (finished.value().value_or(0) == 0) return Status::ok();
  return table.refusal(row, column, "a number, as requests finished");
}

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

Result<Json> metrics_json(const ResultsTable& table, MetricColumn column, std::size_t row) {
  const auto json_of = [](const std::optional<double>& value) {
    return value ? Json(rounded(*value)) : Json();
  };
  Json json = Json::object();
  for (const ReportMetric& metric : kMetrics) {
    const auto value = value_of(table, column, row, metric, "");
    RECTO_RETURN_IF_ERROR(value.status());
    if (metric.kind == kLatency) {
      RECTO_RETURN_IF_ERROR(check_latency(table, row, metric.*column, value.value().has_value()));
    }
    const std::string name(metric.name);
    json[name] = json_of(value.value());
    if (!table.has(std::string(metric.*column) + std::string(kInterval))) continue;
    const auto half_width = value_of(table, column, row, metric, kInterval);
    RECTO_RETURN_IF_ERROR(half_width.status());
    json[name + std::string(kInterval)] = json_of(half_width.value());
  }
  return json;
}

Result<Json> metrics_by_seed_json(const ResultsFolder& folder, std::size_t row) {
  const MetricColumn column = folder.is_sweep ? &ReportMetric::sweep : &ReportMetric::study;
  Result<Json> json = metrics_json(folder.table, column, row);
  RECTO_RETURN_IF_ERROR(json.status());
  for (const ResultsTable& seed_table : folder.seed_tables) {
    Result<Json> seed = metrics_json(seed_table, column, row);
    RECTO_RETURN_IF_ERROR(seed.status());
    json.value()[kBySeed].push_back(std::move(seed).value());
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
