#include "experiments/report/repeated_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/json.h"
#include "experiments/support/manifest.h"
#include "experiments/support/output_file.h"
#include "experiments/support/report_json.h"
#include "experiments/support/resolved_run.h"
#include "experiments/support/run.h"

namespace recto::experiments {
namespace {

// Fields that may name a file, which is identified by its content and may have moved.
constexpr std::string_view kNames[] = {"time_model", "report.time_model"};

std::string remedy(const ResultsFolder& folder) {
  if (folder.commit() == commit()) return "expected files of one run";
  return fmt::format(
      "expected files of one run, and the same from this recto, of commit {}, as "
      "from that of commit {}",
      commit(), folder.commit());
}

std::optional<double> number_of(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool has_values_by_seed(const ResultsFolder& folder, const std::string& column) {
  return folder.seeds > 1 && folder.table.has(column + "_by_seed");
}

// Whether a field of a row equals the run's value, or is a mean whose first value equals it. A mean
// is empty if some seed has no value.
bool agrees(const ResultsFolder& folder, std::size_t row, const std::string& column,
            const std::string& now) {
  if (std::ranges::find(kNames, column) != std::end(kNames)) return true;
  if (!has_values_by_seed(folder, column)) return folder.table.text(row, column) == now;
  const std::string first(folder.table.text_of_seed(row, column, 0));
  return first.empty() || number_of(first) == number_of(now);
}

Status check_row(const ResultsFolder& folder, std::size_t row, const RunOutcome& outcome) {
  std::vector<std::pair<std::string, std::string>> columns{
      {"allocator", folder.configs[row].allocator},
      {"block_size", std::to_string(outcome.report.block_size.value())}};
  std::ranges::move(flatten(to_json(outcome)), std::back_inserter(columns));
  for (const auto& [column, now] : columns) {
    if (!folder.table.has(column)) {
      return Status::invalid_input(fmt::format("{}/fragmentation.csv: found no column {}; {}",
                                               folder.path, column, remedy(folder)));
    }
    if (agrees(folder, row, column, now)) continue;
    const bool is_mean = has_values_by_seed(folder, column);
    const std::string found = column + (is_mean ? "_by_seed" : "");
    return Status::invalid_input(fmt::format(
        "{}/fragmentation.csv, line {}, {}: found '{}', where the settings of manifest.json give "
        "'{}'{}; {}",
        folder.path, row + 2, found, folder.table.text(row, found), now, is_mean ? " first" : "",
        remedy(folder)));
  }
  return Status::ok();
}

Status check_series(const ResultsFolder& folder, const std::vector<RecordedRun>& runs) {
  const std::string path = folder.path + "/series.csv";
  const Result<std::string> found = read_text_file(path);
  RECTO_RETURN_IF_ERROR(found.status());
  std::string now = series_csv_header();
  for (std::size_t i = 0; i < runs.size(); ++i) {
    now += series_csv_rows(folder.configs[i].allocator, runs[i].outcome.report);
  }
  if (found.value() == now) return Status::ok();
  const auto [end, _] = std::ranges::mismatch(now, found.value());
  return Status::invalid_input(
      fmt::format("{}, line {}: found another than the settings of manifest.json give; {}", path,
                  1 + std::count(now.begin(), end, '\n'), remedy(folder)));
}

// The time models of all runs, each once. A file has the name that the manifest's configurations
// give it, even if it has moved.
Json time_models_of(const ResultsFolder& folder, const std::vector<RecordedRun>& runs) {
  Json models = Json::array();
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const TimeModelFacts& facts = runs[i].outcome.time_model;
    const bool is_named = facts.name == folder.configs[i].time_model;
    const Json& settings = folder.manifest["configurations"][i];
    const Json name = is_named ? settings.value("time_model", facts.name) : facts.name;
    const Json model = {{"name", name}, {"provenance", facts.provenance}};
    if (std::ranges::find(models, model) == models.end()) models.push_back(model);
  }
  return models;
}

Status check_time_models(const ResultsFolder& folder, const std::vector<RecordedRun>& runs) {
  const Json found = folder.manifest.value("time_models", Json());
  const Json now = time_models_of(folder, runs);
  if (found == now) return Status::ok();
  return Status::invalid_input(
      fmt::format("{}/manifest.json, time_models: found {}, where its configurations give {}; {}",
                  folder.path, json_text(found), json_text(now), remedy(folder)));
}

}  // namespace

Status check_repeated(const ResultsFolder& folder, const std::vector<RecordedRun>& runs) {
  RECTO_RETURN_IF_ERROR(check_time_models(folder, runs));
  for (std::size_t row = 0; row < runs.size(); ++row) {
    RECTO_RETURN_IF_ERROR(check_row(folder, row, runs[row].outcome));
  }
  return check_series(folder, runs);
}

}  // namespace recto::experiments
