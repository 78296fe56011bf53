#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/contract.h"
#include "experiments/report/block_size_panel.h"
#include "experiments/report/headline.h"
#include "experiments/report/latency_quantiles.h"
#include "experiments/report/map_json.h"
#include "experiments/report/map_recorder.h"
#include "experiments/report/report_metrics.h"
#include "experiments/report/series_data.h"
#include "experiments/report/study_data.h"
#include "experiments/support/parallel.h"
#include "experiments/support/remarks.h"
#include "experiments/support/resolved_run.h"
#include "experiments/support/run_config.h"

namespace recto::experiments {
namespace {

struct Study {
  const ResultsFolder& folder;
  const std::vector<FirstRun>& runs;
  const MapOptions& maps;
};

// A model from a file has the file's name.
std::string model_name(const RunConfig& config) {
  const std::string file = config.model_file.substr(config.model_file.find_last_of('/') + 1);
  return file.empty() ? config.model : file;
}

// For each allocator the row that its panel recommends, or else the first row.
std::vector<std::size_t> telling_rows(const Json& rows, const Json& panels) {
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

// `options.rows` are labels of rows.
std::vector<std::size_t> rows_labelled(const MapOptions& options,
                                       const std::vector<RunConfig>& configs) {
  std::vector<std::size_t> rows;
  for (const std::string& label : options.rows) {
    const auto row = std::ranges::find(configs, label, label_of);
    RECTO_CHECK(row != configs.end());
    rows.push_back(static_cast<std::size_t>(row - configs.begin()));
  }
  return rows;
}

// The beginning of the part that all maps show block by block: where a paged run is busiest.
Result<SimTime> detail_begin(const Study& study, const std::vector<std::size_t>& rows) {
  const auto& [folder, runs, options] = study;
  if (options.from_s) {
    SimTime end;
    for (const std::size_t row : rows) end = std::max(end, end_of(runs[row].report));
    const double end_s = static_cast<double>((end - SimTime()).value()) / 1e9;
    if (*options.from_s < end_s) return SimTime(static_cast<std::int64_t>(*options.from_s * 1e9));
    return Status::invalid_input(
        fmt::format("--map-from-s: found {}; expected less than {}, the seconds that the longest "
                    "run with a map takes",
                    *options.from_s, end_s));
  }
  const auto paged = std::ranges::find_if(
      rows, [&](std::size_t row) { return !is_contiguous(study.folder.configs[row]); });
  return busiest_moment(runs[paged == rows.end() ? rows.front() : *paged].report);
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

Result<Json> row_json(const ResultsFolder& folder, std::size_t row, const FirstRun& run) {
  const auto& [config, report, latency] = run;
  Json metrics = metrics_by_seed_json(folder, row);
  RECTO_RETURN_IF_ERROR(add_kernel_time(config, metrics).in(label_of(config)));
  return Json{{"label", label_of(config)},
              {"allocator", config.allocator},
              {"timeline", "recto simulate" + used_flags(config) + " --timeline run.json"},
              {"block_size", is_contiguous(config) ? Json() : Json(config.block_size)},
              {"covers_drain", covers_drain_json(report)},
              {"covered_share", covered_share_json(report)},
              {"metrics", std::move(metrics)}};
}

Result<Json> maps_json(const Study& study, const std::vector<std::size_t>& rows, SimTime begin,
                       CommandContext& context) {
  const bool is_chosen = study.maps.from_s.has_value();
  const auto part = is_chosen ? SingleBlocks::kFromBegin : SingleBlocks::kWholeRunIfFew;
  ProgressBar progress(context.err, context.terminal, rows.size());
  const auto maps = make_all<MemoryMap>(rows.size(), study.maps.threads, [&](std::size_t i) {
    const auto& [config, report, latency] = study.runs[rows[i]];
    Result<MemoryMap> map = record_map(config, report, begin, part);
    progress.advance("map of " + label_of(config));
    if (!map.is_ok()) return Result<MemoryMap>(map.status().in(label_of(config)));
    return map;
  });
  RECTO_RETURN_IF_ERROR(maps.status());
  Json json = Json::array();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    Json map = to_json(maps.value()[i]);
    map["begin_is_chosen"] = is_chosen;
    json.push_back({{"row", rows[i]}, {"map", std::move(map)}});
  }
  return json;
}

// Figures are those of the study's table.
Result<Json> fragmentation_data(const Study& study, CommandContext& context) {
  const auto& [folder, runs, options] = study;
  Json rows = Json::array();
  Json series = Json::array();
  Json latency = Json::array();
  std::vector<std::string> allocators;
  for (std::size_t i = 0; i < folder.configs.size(); ++i) {
    Result<Json> row = row_json(folder, i, runs[i]);
    RECTO_RETURN_IF_ERROR(row.status());
    rows.push_back(std::move(row).value());
    series.push_back(series_json(runs[i].report));
    latency.push_back(runs[i].latency);
    allocators.push_back(folder.configs[i].allocator);
  }
  const Throughput throughput = throughput_of(folder.configs);
  const Json panels = block_size_panels(rows, allocators, throughput, folder.seeds);
  const std::vector<std::size_t> mapped =
      options.rows.empty() ? telling_rows(rows, panels) : rows_labelled(options, folder.configs);
  const auto begin = detail_begin(study, mapped);
  RECTO_RETURN_IF_ERROR(begin.status());
  const auto maps = maps_json(study, mapped, begin.value(), context);
  RECTO_RETURN_IF_ERROR(maps.status());
  const Json headline = headline_json(rows, mapped, panels, throughput);
  for (Json& row : rows) row["metrics"].erase(kBySeed);
  const FirstRun& first = runs.front();
  return Json{{"kind", "fragmentation"},
              {"notes", notes_on(rows, folder.seeds)},
              {"seeds", folder.seeds},
              {"setting", setting_line(first.config, model_name(first.config), first.report)},
              {"pool_slots", first.report.pool_slots.value()},
              {"has_limits", throughput == Throughput::kGoodput},
              {"time_models", folder.manifest["time_models"]},
              {"rows", rows},
              {"series", series},
              {"quantiles_per_mille", quantile_per_mille()},
              {"latency", latency},
              {"manager", folder.configs.front().manager},
              {"maps", maps.value()},
              {"headline", headline},
              {"panels", panels}};
}

}  // namespace

Status check_map_rows(const MapOptions& options, const std::vector<RunConfig>& configs) {
  std::vector<std::string> labels;
  for (const RunConfig& config : configs) labels.push_back(label_of(config));
  for (const std::string& label : options.rows) {
    if (std::ranges::find(labels, label) != labels.end()) continue;
    return Status::invalid_input(
        fmt::format("--maps: found '{}'; expected some of {}", label, fmt::join(labels, ", ")));
  }
  return Status::ok();
}

Status write_study_data(const std::string& folder, const std::vector<FirstRun>& runs,
                        const MapOptions& options, CommandContext& context) {
  Result<ResultsFolder> results = read_results_folder(folder);
  RECTO_RETURN_IF_ERROR(results.status());
  for (const FirstRun& run : runs) results.value().configs.push_back(run.config);
  const Result<Json> data = fragmentation_data({results.value(), runs, options}, context);
  RECTO_RETURN_IF_ERROR(data.status());
  RECTO_RETURN_IF_ERROR(write_data_file(folder, data.value()));
  context.out << fmt::format("Wrote {}: the data of its page and figures\n", data_file_in(folder));
  return Status::ok();
}

}  // namespace recto::experiments
