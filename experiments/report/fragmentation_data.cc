#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "experiments/report/block_size_panel.h"
#include "experiments/report/headline.h"
#include "experiments/report/map_json.h"
#include "experiments/report/map_recorder.h"
#include "experiments/report/recorded_run.h"
#include "experiments/report/repeated_runs.h"
#include "experiments/report/report_metrics.h"
#include "experiments/report/series_data.h"
#include "experiments/report/study_data.h"
#include "experiments/support/numbers.h"
#include "experiments/support/parallel.h"
#include "experiments/support/remarks.h"
#include "experiments/support/request_source.h"
#include "experiments/support/resolved_run.h"
#include "experiments/support/run_config.h"

namespace recto::experiments {
namespace {

std::string setting_line(const RunConfig& config, const sim::Report& report) {
  const std::string file = config.model_file.substr(config.model_file.find_last_of('/') + 1);
  const std::string model = file.empty() ? config.model : file;
  const std::string decoding = config.decoding == "single" ? "" : ", decoding " + config.decoding;
  return fmt::format("{}, {}{}; {} on {} x {}; {}", workload_name(config),
                     counted(report.counters.requests_arrived, "request"), decoding, model,
                     config.tp, config.gpu, pool_text(config, report));
}

// "paged 16"; contiguous allocators have no blocks.
std::string label_of(const RunConfig& config) {
  if (is_contiguous(config)) return config.allocator;
  return fmt::format("{} {}", config.allocator, config.block_size);
}

// The results of `make` for each label's index, or the first failure with its label.
template <typename Value, typename Make>
Result<std::vector<Value>> made_of(const std::vector<std::string>& labels, int threads, Make make) {
  std::vector<std::optional<Result<Value>>> made(labels.size());
  for_each_index(labels.size(), threads, [&](std::size_t i) { made[i] = make(i); });
  std::vector<Value> values;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    RECTO_RETURN_IF_ERROR(made[i]->status().in(labels[i]));
    values.push_back(std::move(*made[i]).value());
  }
  return values;
}

// For each allocator the row that its panel recommends, or else the first row.
Result<std::vector<std::size_t>> telling_rows(const Json& rows, const Json& panels) {
  std::vector<Json> allocators;
  std::vector<std::size_t> telling;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Json& allocator = rows[i]["allocator"];
    if (std::ranges::find(allocators, allocator) != allocators.end()) continue;
    allocators.push_back(allocator);
    telling.push_back(i);
    for (const Json& panel : panels) {
      if (panel["family"] != allocator) continue;
      for (const std::size_t row : panel["rows"].get<std::vector<std::size_t>>()) {
        if (rows[row]["block_size"] == panel["advice"]["recommended"]) telling.back() = row;
      }
    }
  }
  return telling;
}

Result<std::vector<std::size_t>> rows_labelled(const std::vector<std::string>& wanted,
                                               const std::vector<std::string>& labels) {
  std::vector<std::size_t> rows;
  for (const std::string& label : wanted) {
    const auto row = std::ranges::find(labels, label);
    if (row == labels.end()) {
      return Status::invalid_input(
          fmt::format("--maps: found '{}'; expected some of {}", label, fmt::join(labels, ", ")));
    }
    rows.push_back(static_cast<std::size_t>(row - labels.begin()));
  }
  return rows;
}

// The beginning of the part that all maps show block by block: where a paged run is busiest.
Result<SimTime> detail_begin(const ResultsFolder& folder, const std::vector<RecordedRun>& runs,
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
  const auto paged = std::ranges::find_if(
      rows, [&](std::size_t row) { return !is_contiguous(folder.configs[row]); });
  return busiest_moment(runs[paged == rows.end() ? rows.front() : *paged].outcome.report);
}

// 1 if the means of a run extend to its last answer, 0 if they end with the last arrival.
Json covers_drain_json(const sim::Report& report) {
  if (report.counters.requests_finished == 0) return Json();
  return report.covers_drain ? 1 : 0;
}

// The part of the time from the first arrival to the last answer that the means cover.
Json covered_share_json(const sim::Report& report) {
  if (report.makespan.value() <= 0) return Json();
  return rounded(static_cast<double>(report.covered.value()) /
                 static_cast<double>(report.makespan.value()));
}

// Uses the manifest's names of inputs, even if these have moved.
std::string timeline_command(const ResultsFolder& folder, std::size_t row) {
  const Result<RunConfig> config = run_config_from_json(folder.manifest["configurations"][row]);
  return "recto simulate" + used_flags(config.value()) + " --timeline run.json";
}

Result<Json> row_json(const ResultsFolder& folder, std::size_t row, const sim::Report& report) {
  const RunConfig& config = folder.configs[row];
  Json metrics = metrics_by_seed_json(folder, row);
  RECTO_RETURN_IF_ERROR(add_kernel_time(config, metrics).in(label_of(config)));
  return Json{{"label", label_of(config)},
              {"allocator", config.allocator},
              {"timeline", timeline_command(folder, row)},
              {"block_size", is_contiguous(config) ? Json() : Json(config.block_size)},
              {"covers_drain", covers_drain_json(report)},
              {"covered_share", covered_share_json(report)},
              {"metrics", std::move(metrics)}};
}

Result<Json> maps_json(const ResultsFolder& folder, const std::vector<RecordedRun>& runs,
                       const std::vector<std::size_t>& rows, SimTime begin,
                       const ReportOptions& options) {
  std::vector<std::string> labels;
  for (const std::size_t row : rows) labels.push_back(label_of(folder.configs[row]));
  Result<std::vector<MemoryMap>> maps =
      made_of<MemoryMap>(labels, options.threads, [&](std::size_t i) {
        const RunConfig& config = folder.configs[rows[i]];
        const sim::Report& report = runs[rows[i]].outcome.report;
        return options.map_from_s
                   ? record_map(config, report, {.detail = begin, .close_look = begin})
                   : record_map_whole_or_from(config, report, begin);
      });
  RECTO_RETURN_IF_ERROR(maps.status());
  Json json = Json::array();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    Json map = to_json(maps.value()[i]);
    map["begin_is_chosen"] = options.map_from_s.has_value();
    json.push_back({{"row", rows[i]}, {"map", std::move(map)}});
  }
  return json;
}

}  // namespace

Result<Json> fragmentation_data(const ResultsFolder& folder, const ReportOptions& options) {
  std::vector<std::string> labels;
  for (const RunConfig& config : folder.configs) labels.push_back(label_of(config));
  const auto runs = made_of<RecordedRun>(labels, options.threads, [&](std::size_t i) {
    Result<RecordedRun> run = run_and_record(folder.configs[i]);
    if (options.done) options.done(labels[i]);
    return run;
  });
  RECTO_RETURN_IF_ERROR(runs.status());
  RECTO_RETURN_IF_ERROR(check_repeated(folder, runs.value()));
  Json rows = Json::array();
  Json series = Json::array();
  Json latency = Json::array();
  std::vector<std::string> allocators;
  for (std::size_t i = 0; i < folder.configs.size(); ++i) {
    const RecordedRun& run = runs.value()[i];
    Result<Json> row = row_json(folder, i, run.outcome.report);
    RECTO_RETURN_IF_ERROR(row.status());
    rows.push_back(std::move(row).value());
    series.push_back(series_json(run.outcome.report));
    latency.push_back(run.latency);
    allocators.push_back(folder.configs[i].allocator);
  }
  const Throughput throughput = throughput_of(folder.configs);
  const Json panels = block_size_panels(rows, allocators, throughput, folder.seeds);
  const auto mapped =
      options.maps.empty() ? telling_rows(rows, panels) : rows_labelled(options.maps, labels);
  RECTO_RETURN_IF_ERROR(mapped.status());
  const auto begin = detail_begin(folder, runs.value(), mapped.value(), options);
  RECTO_RETURN_IF_ERROR(begin.status());
  const auto maps = maps_json(folder, runs.value(), mapped.value(), begin.value(), options);
  RECTO_RETURN_IF_ERROR(maps.status());
  const sim::Report& first = runs.value().front().outcome.report;
  const Json headline = headline_json(rows, mapped.value(), panels, throughput);
  for (Json& row : rows) row["metrics"].erase(kBySeed);
  return Json{{"kind", "fragmentation"},
              {"notes", notes_on(folder, rows)},
              {"seeds", folder.seeds},
              {"setting", setting_line(folder.configs.front(), first)},
              {"pool_slots", first.pool_slots.value()},
              {"has_limits", throughput == Throughput::kGoodput},
              {"time_models",
               folder.manifest["time_models"]},  // equal to those of the runs: check_repeated
              {"rows", rows},
              {"series", series},
              {"quantiles_per_mille", quantile_per_mille()},
              {"latency", latency},
              {"manager", folder.configs.front().manager},
              {"maps", maps.value()},
              {"headline", headline},
              {"panels", panels}};
}

}  // namespace recto::experiments
