#include "experiments/fragmentation/fragmentation_study.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "core/json.h"
#include "experiments/report/latency_quantiles.h"
#include "experiments/support/manifest.h"
#include "experiments/support/output_file.h"
#include "experiments/support/parallel.h"
#include "experiments/support/remarks.h"
#include "experiments/support/report_json.h"
#include "experiments/support/resolved_run.h"
#include "experiments/support/run_config.h"

namespace recto::experiments {
namespace {

// The sources of the step times of all rows, each once.
Json time_models(const std::vector<FragmentationRow>& rows) {
  Json models = Json::array();
  for (const FragmentationRow& row : rows) {
    const TimeModelFacts& facts = row.runs.front().time_model;
    const Json model = {{"name", facts.name}, {"provenance", facts.provenance}};
    if (std::ranges::find(models, model) == models.end()) models.push_back(model);
  }
  return models;
}

// For rows that rejected any request under the first seed.
Json rejected(const std::vector<FragmentationRow>& rows) {
  Json json = Json::object();
  for (const FragmentationRow& row : rows) {
    const sim::Report& report = row.first_report();
    if (report.counters.requests_rejected > 0) json[row.label()] = rejected_json(report);
  }
  return json;
}

}  // namespace

PoolShares FragmentationRow::mean_shares() const {
  PoolShares shares;
  for (const PoolState& state : kPoolStates) {
    shares.*state.share = mean("figures.mean_shares." + std::string(state.name));
  }
  return shares;
}

std::string FragmentationRow::block_text() const {
  return is_contiguous(config) ? "-" : fmt::format("{}", config.block_size);
}

std::string FragmentationRow::label() const { return label_of(config); }

std::vector<RunConfig> configs_of(const std::vector<FragmentationRow>& rows) {
  std::vector<RunConfig> configs;
  for (const FragmentationRow& row : rows) configs.push_back(row.config);
  return configs;
}

Result<std::vector<RunConfig>> expand(const FragmentationGrid& grid) {
  std::vector<RunConfig> configs;
  for (const std::string& allocator : grid.allocators) {
    RunConfig config = grid.base;
    RECTO_RETURN_IF_ERROR(
        set_field(config, *find_run_field("allocator"), allocator).in("--allocators"));
    if (is_contiguous(config)) {
      configs.push_back(config);
      continue;
    }
    for (const std::int64_t block_size : grid.block_sizes) {
      config.block_size = block_size;
      configs.push_back(config);
    }
  }
  for (const RunConfig& config : configs) {
    RECTO_RETURN_IF_ERROR(validate(config).in(label_of(config)));
  }
  RECTO_RETURN_IF_ERROR(refuse_unused(configs));
  return configs;
}

Result<std::vector<FragmentationRow>> run_all(const std::vector<RunConfig>& configs,
                                              const StudyOptions& options) {
  for (const RunConfig& config : configs) {
    RECTO_RETURN_IF_ERROR(check_seed_room(config, options.seeds));
  }
  const auto seeds = static_cast<std::size_t>(options.seeds);
  using Run = std::pair<RunOutcome, Json>;
  auto runs = make_all<Run>(configs.size() * seeds, options.threads, [&](std::size_t index) {
    RunConfig config = configs[index / seeds];
    config.seed += static_cast<std::int64_t>(index % seeds);
    LatencyQuantiles latency;
    Result<RunOutcome> outcome = run(config, &latency);
    if (options.done) options.done(config);
    if (!outcome.is_ok()) return Result<Run>(outcome.status().in(label_of(config)));
    return Result<Run>(Run(std::move(outcome).value(), latency.json()));
  });
  RECTO_RETURN_IF_ERROR(runs.status());
  std::vector<FragmentationRow> rows;
  for (std::size_t i = 0; i < configs.size(); ++i) {
    FragmentationRow row{.config = configs[i],
                         .runs = {},
                         .intervals = {},
                         .latency = std::move(runs.value()[i * seeds].second)};
    for (std::size_t seed = 0; seed < seeds; ++seed) {
      row.runs.push_back(std::move(runs.value()[i * seeds + seed].first));
    }
    row.intervals = intervals_of(row.runs);
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string fragmentation_csv(const std::vector<FragmentationRow>& rows) {
  std::string text;
  for (const FragmentationRow& row : rows) {
    const RunOutcome& first = row.runs.front();
    const auto columns = flatten(to_json(first));
    std::vector<std::string> titles{"allocator", "block_size"};
    std::vector<std::string> values{row.config.allocator,
                                    std::to_string(row.first_report().block_size.value())};
    for (const auto& [title, value] : columns) {
      const auto mean = std::ranges::find(row.intervals, title, &NamedInterval::name);
      const bool is_mean = row.runs.size() > 1 && mean != row.intervals.end();
      titles.push_back(title);
      values.push_back(is_mean ? csv_number_or_nothing(mean->interval.mean) : value);
      if (!is_mean) continue;
      titles.push_back(title + "_ci95");
      values.push_back(csv_number_or_nothing(mean->interval.half_width));
      titles.push_back(title + "_by_seed");
      values.push_back(csv_numbers(mean->by_seed));
    }
    if (text.empty()) text = csv_row(titles);
    text += csv_row(values);
  }
  return text;
}

std::string series_csv(const std::vector<FragmentationRow>& rows) {
  std::string text = series_csv_header();
  for (const FragmentationRow& row : rows) {
    text += series_csv_rows(row.config.allocator, row.first_report());
  }
  return text;
}

Status write_fragmentation_files(const std::vector<FragmentationRow>& rows,
                                 const std::string& folder, const Json& extra) {
  const std::vector<RunConfig> configs = configs_of(rows);
  Json settings = Json::array();
  for (const RunConfig& config : configs) settings.push_back(to_json(config));
  Result<Json> begun = begin_manifest("fragmentation", configs);
  RECTO_RETURN_IF_ERROR(begun.status());
  Json& manifest = begun.value();
  RECTO_RETURN_IF_ERROR(make_folder(folder));
  Json files = Json::object();
  RECTO_RETURN_IF_ERROR(
      write_noted_file(folder, "fragmentation.csv", fragmentation_csv(rows), files));
  RECTO_RETURN_IF_ERROR(write_noted_file(folder, "series.csv", series_csv(rows), files));
  for (const auto& [key, value] : extra.items()) manifest[key] = value;
  manifest["time_models"] = time_models(rows);
  manifest["rejected"] = rejected(rows);
  manifest["remarks"] = grid_remarks(configs);
  manifest["files"] = files;
  manifest["configurations"] = settings;
  if (rows.front().runs.size() > 1) manifest["seeds"] = rows.front().runs.size();
  return write_file(folder + "/manifest.json", json_text(manifest, 2) + '\n');
}

}  // namespace recto::experiments
