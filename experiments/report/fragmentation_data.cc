#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "experiments/report/block_size_panel.h"
#include "experiments/report/headline.h"
#include "experiments/report/kernel_time.h"
#include "experiments/report/latency_quantiles.h"
#include "experiments/report/map_json.h"
#include "experiments/report/recorded_run.h"
#include "experiments/report/repeated_runs.h"
#include "experiments/report/report_metrics.h"
#include "experiments/report/series_data.h"
#include "experiments/report/study_data.h"
#include "experiments/report/text_field.h"
#include "experiments/support/numbers.h"
#include "experiments/support/parallel.h"
#include "experiments/support/remarks.h"
#include "experiments/support/request_source.h"
#include "experiments/support/resolved_run.h"
#include "experiments/support/run_config.h"

namespace recto::experiments {
namespace {

Json seconds_json(const std::vector<double>& values) {
  Json json = Json::array();
  for (const double value : values) json.push_back(rounded(value));
  return json;
}

Json latency_json(const LatencyQuantiles& latency) {
  return {{"queueing", seconds_json(latency.queueing_s)},
          {"ttft", seconds_json(latency.ttft_s)},
          {"tpot", seconds_json(latency.tpot_s)},
          {"end_to_end", seconds_json(latency.end_to_end_s)}};
}

std::string setting_line(const RunConfig& config, const sim::Report& report) {
  const std::string file = config.model_file.substr(config.model_file.find_last_of('/') + 1);
  const std::string model = file.empty() ? config.model : file;
  const std::string decoding = config.decoding == "single" ? "" : ", decoding " + config.decoding;
  return fmt::format("{}, {}{}; {} on {} x {}; {}", workload_name(config),
                     counted(report.counters.requests_arrived, "request"), decoding, model,
                     config.tp, config.gpu, pool_text(config, report));
}

Result<std::vector<RecordedRun>> record_all(const std::vector<RunConfig>& configs,
                                            const ReportOptions& options) {
  std::vector<std::optional<Result<RecordedRun>>> results(configs.size());
  for_each_index(configs.size(), options.threads, [&](std::size_t index) {
    results[index] = run_and_record(configs[index]);
    if (options.done) options.done(study_label(configs[index]));
  });
  std::vector<RecordedRun> runs;
  for (std::size_t i = 0; i < configs.size(); ++i) {
    RECTO_RETURN_IF_ERROR(results[i]->status().in(study_label(configs[i])));
    runs.push_back(std::move(*results[i]).value());
  }
  return runs;
}

std::size_t row_of(const std::vector<RunConfig>& configs, const std::string& label) {
  const auto found = std::ranges::find(configs, label, study_label);
  return static_cast<std::size_t>(found - configs.begin());
}

// For each allocator the first row, or the one that its panel recommends.
std::vector<std::size_t> telling_rows(const std::vector<RunConfig>& configs, const Json& panels) {
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i < configs.size(); ++i) {
    const std::string& allocator = configs[i].allocator;
    const auto first = std::ranges::find(configs, allocator, &RunConfig::allocator);
    if (first != configs.begin() + static_cast<std::ptrdiff_t>(i)) continue;
    rows.push_back(i);
    for (const Json& panel : panels) {
      if (panel["family"] != allocator || panel["advice"]["recommended"].is_null()) continue;
      RunConfig best = configs[i];
      best.block_size = panel["advice"]["recommended"].get<std::int64_t>();
      rows.back() = row_of(configs, study_label(best));
    }
  }
  return rows;
}

Result<std::vector<std::size_t>> mapped_rows(const std::vector<RunConfig>& configs,
                                             const Json& panels, const ReportOptions& options) {
  if (options.maps.empty()) return telling_rows(configs, panels);
  std::vector<std::size_t> rows;
  for (const std::string& label : options.maps) {
    const std::size_t row = row_of(configs, label);
    if (row == configs.size()) {
      std::vector<std::string> labels;
      for (const RunConfig& config : configs) labels.push_back(study_label(config));
      return Status::invalid_input(
          fmt::format("--maps: found '{}'; expected some of {}", label, fmt::join(labels, ", ")));
    }
    rows.push_back(row);
  }
  return rows;
}

// What all maps show block by block, if not more: from where a paged run is busiest.
Result<SimTime> detail_begin(const std::vector<RunConfig>& configs,
                             const std::vector<RecordedRun>& runs,
                             const std::vector<std::size_t>& rows, const ReportOptions& options) {
  if (options.map_from_s) {
    SimTime end;
    for (const std::size_t row : rows) end = std::max(end, end_of(runs[row].outcome.report));
    const double end_s = static_cast<double>((end - SimTime()).value()) / 1e9;
    if (*options.map_from_s < end_s) {
      return SimTime(static_cast<std::int64_t>(*options.map_from_s * 1e9));
    }
    return Status::invalid_input(
        fmt::format("--map-from-s: found {}; expected less than {}, the seconds that the longest "
                    "run with a map takes",
                    *options.map_from_s, end_s));
  }
  const auto paged =
      std::ranges::find_if(rows, [&](std::size_t row) { return !is_contiguous(configs[row]); });
  return busiest_moment(runs[paged == rows.end() ? rows.front() : *paged].outcome.report);
}

Result<Json> maps_json(const std::vector<RunConfig>& configs, const std::vector<RecordedRun>& runs,
                       const std::vector<std::size_t>& rows, SimTime begin,
                       const ReportOptions& options) {
  std::vector<std::optional<Result<MemoryMap>>> maps(rows.size());
  for_each_index(rows.size(), options.threads, [&](std::size_t i) {
    const auto record = options.map_from_s ? record_map : record_map_whole_or_from;
    maps[i] = record(configs[rows[i]], runs[rows[i]].outcome.report, begin);
  });
  Json json = Json::array();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    RECTO_RETURN_IF_ERROR(maps[i]->status().in(study_label(configs[rows[i]])));
    Json map = to_json(maps[i]->value());
    map["begin_is_chosen"] = options.map_from_s.has_value();
    json.push_back({{"row", rows[i]}, {"map", std::move(map)}});
  }
  return json;
}

// 1 where the means of a run go on to its last answer, 0 where they end with the last arrival.
Json covers_drain_json(const sim::Report& report) {
  if (report.counters.requests_finished == 0) return Json();
  return report.covers_drain ? 1 : 0;
}

// The part of the time from the first arrival to the last answer that the means are of.
Json covered_share_json(const sim::Report& report) {
  if (report.makespan.value() <= 0) return Json();
  return rounded(static_cast<double>(report.covered.value()) /
                 static_cast<double>(report.makespan.value()));
}

// With the names of inputs that the manifest has, wherever they are now.
std::string timeline_command(const ResultsFolder& folder, std::size_t row) {
  const Result<RunConfig> config = run_config_from_json(folder.manifest["configurations"][row]);
  return "recto simulate" + used_flags(config.value()) + " --timeline run.json";
}

bool has_limits(const RunConfig& config) { return config.ttft_limit_ms || config.tpot_limit_ms; }

}  // namespace

std::string study_label(const RunConfig& config) {
  if (is_contiguous(config)) return config.allocator;
  return fmt::format("{} {}", config.allocator, config.block_size);
}

Result<Json> fragmentation_data(const ResultsFolder& folder, const ReportOptions& options) {
  const Result<std::vector<RecordedRun>> runs = record_all(folder.configs, options);
  RECTO_RETURN_IF_ERROR(runs.status());
  RECTO_RETURN_IF_ERROR(check_repeated(folder, runs.value()));
  Json rows = Json::array();
  Json series = Json::array();
  Json latency = Json::array();
  BlockSizePanels panels;
  for (std::size_t i = 0; i < folder.configs.size(); ++i) {
    const RunConfig& config = folder.configs[i];
    const RecordedRun& run = runs.value()[i];
    const bool has_blocks = !is_contiguous(config);
    auto metrics =
        metrics_by_seed_json(folder.table, folder.seed_tables, i, fragmentation_metrics());
    RECTO_RETURN_IF_ERROR(metrics.status());
    RECTO_RETURN_IF_ERROR(add_kernel_time(config, metrics.value()).in(study_label(config)));
    rows.push_back({{"label", study_label(config)},
                    {"allocator", config.allocator},
                    {"timeline", timeline_command(folder, i)},
                    {"block_size", has_blocks ? Json(config.block_size) : Json()},
                    {"covers_drain", covers_drain_json(run.outcome.report)},
                    {"covered_share", covered_share_json(run.outcome.report)},
                    {"metrics", metrics.value()}});
    if (has_blocks) panels.add(config.allocator, config.block_size, i, metrics.value());
    series.push_back(series_json(run.outcome.report));
    latency.push_back(latency_json(run.latency));
  }
  const RunConfig& first = folder.configs.front();
  const bool limits = has_limits(first);
  const Throughput throughput = limits ? Throughput::kGoodput : Throughput::kTokens;
  const Json panels_json = panels.json(throughput, folder.seeds);
  const auto mapped = mapped_rows(folder.configs, panels_json, options);
  RECTO_RETURN_IF_ERROR(mapped.status());
  const auto begin = detail_begin(folder.configs, runs.value(), mapped.value(), options);
  RECTO_RETURN_IF_ERROR(begin.status());
  const auto maps = maps_json(folder.configs, runs.value(), mapped.value(), begin.value(), options);
  RECTO_RETURN_IF_ERROR(maps.status());
  const sim::Report& report = runs.value().front().outcome.report;
  const Json headline = headline_json(rows, mapped.value(), panels_json, throughput);
  for (Json& row : rows) row["metrics"].erase(kBySeed);
  return Json{{"kind", "fragmentation"},
              {"notes", notes_on(folder, rows)},
              {"seeds", folder.seeds},
              {"setting", setting_line(first, report)},
              {"pool_slots", report.pool_slots.value()},
              {"has_limits", limits},
              {"time_models", folder.manifest["time_models"]},  // those of the runs: check_repeated
              {"rows", rows},
              {"series", series},
              {"quantiles_per_mille", quantile_per_mille()},
              {"latency", latency},
              {"manager", first.manager},
              {"maps", maps.value()},
              {"close_look_us", (begin.value() - SimTime()).value() / 1000},
              {"headline", headline},
              {"panels", panels_json}};
}

}  // namespace recto::experiments
