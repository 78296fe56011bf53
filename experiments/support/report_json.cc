#include "experiments/support/report_json.h"

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <vector>

#include "core/json.h"
#include "core/units.h"
#include "sim/metrics/gauges.h"

namespace recto::experiments {
namespace {

Json to_json(const sim::LatencySummary& latency) {
  return {{"count", latency.count},   {"mean_ns", latency.mean_ns}, {"p50_ns", latency.p50_ns},
          {"p90_ns", latency.p90_ns}, {"p99_ns", latency.p99_ns},   {"max_ns", latency.max_ns}};
}

Json to_json(const sim::Counters& counters) {
  return {{"requests_arrived", counters.requests_arrived},
          {"requests_finished", counters.requests_finished},
          {"requests_rejected", counters.requests_rejected},
          {"requests_within_limits", counters.requests_within_limits},
          {"preemptions_recompute", counters.preemptions_recompute},
          {"preemptions_swap", counters.preemptions_swap},
          {"steps", counters.steps},
          {"prefill_tokens", counters.prefill_tokens},
          {"decode_tokens", counters.decode_tokens},
          {"output_tokens", counters.output_tokens},
          {"recomputed_tokens", counters.recomputed_tokens},
          {"swapped_out_slots", counters.swapped_out_slots},
          {"swapped_in_slots", counters.swapped_in_slots},
          {"prefix_query_tokens", counters.prefix_query_tokens},
          {"prefix_hit_tokens", counters.prefix_hit_tokens},
          {"prefix_hit_pairs", counters.prefix_hit_pairs},
          {"readmitted_query_tokens", counters.readmitted_query_tokens},
          {"readmitted_hit_tokens", counters.readmitted_hit_tokens},
          {"copied_slots", counters.copied_slots},
          {"beam_switches", counters.beam_switches}};
}

Json to_json(const sim::TimeSpent& spent) {
  return {{"fixed_ns", spent.fixed.value()},         {"linear_ns", spent.linear.value()},
          {"attention_ns", spent.attention.value()}, {"copy_ns", spent.copy.value()},
          {"overlap_ns", spent.overlap.value()},     {"swap_ns", spent.swap.value()}};
}

Json gauges_json(const sim::Report& report) {
  Json json = Json::object();
  for (const sim::GaugeInfo& info : sim::kGauges) {
    const sim::GaugeSummary& summary = report.gauge(info.gauge);
    json[info.name] = {{"mean", summary.mean},
                       {"p50", summary.p50},
                       {"p90", summary.p90},
                       {"p99", summary.p99},
                       {"max", summary.max}};
  }
  return json;
}

Json series_json(const sim::Report& report) {
  Json json = {{"begin_ns", Json::array()}, {"length_ns", Json::array()}};
  for (const sim::GaugeInfo& info : sim::kGauges) json[info.name] = Json::array();
  for (const sim::SeriesWindow& window : report.series) {
    json["begin_ns"].push_back(window.begin.value());
    json["length_ns"].push_back(window.length.value());
    for (const sim::GaugeInfo& info : sim::kGauges) {
      json[info.name].push_back(window.mean[static_cast<std::size_t>(info.gauge)]);
    }
  }
  return json;
}

Json to_json(const PaperShares& shares) {
  return {{"token_states", shares.token_states},
          {"reservation", shares.reservation},
          {"internal_fragmentation", shares.internal_fragmentation},
          {"external_and_others", shares.external_and_others}};
}

Json to_json(const std::optional<bool>& verdict) { return verdict ? Json(*verdict) : Json(); }

void flatten_into(const Json& json, const std::string& prefix,
                  std::vector<std::pair<std::string, std::string>>& columns) {
  for (const auto& [key, value] : json.items()) {
    const std::string name = prefix.empty() ? key : prefix + '.' + key;
    if (value.is_object()) {
      flatten_into(value, name, columns);
    } else if (value.is_null()) {
      columns.emplace_back(name, "");
    } else if (value.is_string()) {
      columns.emplace_back(name, value.get<std::string>());
    } else if (value.is_number_float()) {
      columns.emplace_back(name, csv_number(value.get<double>()));
    } else if (!value.is_array()) {
      columns.emplace_back(name, json_text(value));
    }
  }
}

std::string quoted(std::string_view field) {
  if (field.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(field);
  std::string text = "\"";
  for (const char c : field) {
    if (c == '"') text += '"';
    text += c;
  }
  return text + '"';
}

}  // namespace

Json to_json(const sim::Report& report) {
  return {{"pool_slots", report.pool_slots.value()},
          {"host_pool_slots", report.host_pool_slots.value()},
          {"block_size", report.block_size.value()},
          {"allocator", report.allocator},
          {"time_model", report.time_model},
          {"makespan_ns", report.makespan.value()},
          {"covered_ns", report.covered.value()},
          {"covers_drain", report.covers_drain},
          {"gauges", gauges_json(report)},
          {"series", series_json(report)},
          {"counters", to_json(report.counters)},
          {"time_spent", to_json(report.time_spent)},
          {"queueing", to_json(report.queueing)},
          {"ttft", to_json(report.ttft)},
          {"tpot", to_json(report.tpot)},
          {"end_to_end", to_json(report.end_to_end)},
          {"normalized", to_json(report.normalized)},
          {"rejected_ids_listed", report.rejected_ids.size()},
          {"rejected_ids_listed_max", sim::kRejectedIdsMax},
          {"rejected_ids", report.rejected_ids}};
}

Json rejected_json(const sim::Report& report) {
  return {{"requests_rejected", report.counters.requests_rejected},
          {"rejected_ids_listed", report.rejected_ids.size()},
          {"rejected_ids_listed_max", sim::kRejectedIdsMax},
          {"rejected_ids", report.rejected_ids}};
}

Json to_json(const Figures& figures) {
  Json mean_shares = Json::object();
  for (const auto& [name, share] : named_shares(figures.shares)) mean_shares[name] = share;
  return {{"mean_shares", mean_shares},
          {"paper_shares", to_json(paper_shares(figures.shares))},
          {"used_of_held", figures.used_of_held},
          {"sharing_saving", figures.sharing_saving},
          {"copied_bytes", figures.copied_bytes},
          {"table_bytes_mean", figures.table_bytes_mean},
          {"table_bytes_max", figures.table_bytes_max},
          {"requests_per_s", figures.requests_per_s},
          {"output_tokens_per_s", figures.output_tokens_per_s},
          {"goodput_per_s", figures.goodput_per_s},
          {"prefix_hit_share", figures.prefix_hit_share},
          {"first_hit_share", figures.first_hit_share},
          {"prefix_flops_saved", figures.prefix_flops_saved},
          {"p99_meets_ttft", to_json(figures.p99_meets_ttft)},
          {"p99_meets_tpot", to_json(figures.p99_meets_tpot)}};
}

Json to_json(const RunOutcome& outcome) {
  return {{"figures", to_json(outcome.figures)},
          {"report", to_json(outcome.report)},
          {"time_model", outcome.time_model.name},
          {"time_model_provenance", outcome.time_model.provenance},
          {"window_tokens", outcome.window_tokens},
          {"trace",
           {{"skipped_rows", outcome.skipped_rows},
            {"failed_requests", outcome.failed_requests},
            {"warnings", outcome.warnings}}}};
}

std::vector<std::pair<std::string, std::string>> flatten(const Json& json) {
  std::vector<std::pair<std::string, std::string>> columns;
  flatten_into(json, "", columns);
  return columns;
}

std::string csv_row(const std::vector<std::string>& fields) {
  std::string row;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (i > 0) row += ',';
    row += quoted(fields[i]);
  }
  return row + '\n';
}

std::string csv_number(double value) { return fmt::format("{}", value); }

std::string csv_number_or_nothing(double value) {
  return std::isfinite(value) ? csv_number(value) : "";
}

std::string csv_numbers(std::span<const double> values) {
  std::string text;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0) text += ';';
    text += csv_number_or_nothing(values[i]);
  }
  return text;
}

std::string series_csv_header() {
  std::vector<std::string> titles{"allocator", "block_size", "begin_s", "length_s"};
  for (const sim::GaugeInfo& info : sim::kGauges) titles.emplace_back(info.name);
  return csv_row(titles);
}

std::string series_csv_rows(const std::string& allocator, const sim::Report& report) {
  std::string text;
  for (const sim::SeriesWindow& window : report.series) {
    std::vector<std::string> values{allocator, std::to_string(report.block_size.value()),
                                    csv_number(seconds(window.begin)),
                                    csv_number(seconds(window.length))};
    for (const double mean : window.mean) values.push_back(csv_number(mean));
    text += csv_row(values);
  }
  return text;
}

}  // namespace recto::experiments
