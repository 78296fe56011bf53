#include "experiments/fragmentation/fragmentation_files.h"

#include <algorithm>

#include "core/json.h"
#include "experiments/support/manifest.h"
#include "experiments/support/output_file.h"
#include "experiments/support/remarks.h"
#include "experiments/support/report_json.h"

namespace recto::experiments {
namespace {

// What the step times of all rows are based on, each once.
Json time_models(const std::vector<FragmentationRow>& rows) {
  Json models = Json::array();
  for (const FragmentationRow& row : rows) {
    const TimeModelFacts& facts = row.runs.front().outcome.time_model;
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

std::string fragmentation_csv(const std::vector<FragmentationRow>& rows) {
  std::string text;
  for (const FragmentationRow& row : rows) {
    const SeedRun& first = row.runs.front();
    const auto columns = flatten(to_json(first.outcome, first.figures));
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
