#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/json.h"
#include "experiments/report/block_size_panel.h"
#include "experiments/report/headline.h"
#include "experiments/report/kernel_time.h"
#include "experiments/report/report_metrics.h"
#include "experiments/report/study_data.h"
#include "experiments/report/text_field.h"
#include "experiments/support/manifest.h"
#include "experiments/support/numbers.h"
#include "experiments/support/run_config.h"

namespace recto::experiments {
namespace {

constexpr std::string_view kBlockSize = "block_size";
constexpr std::string_view kAllocator = "allocator";

// Each once, in the order of the rows: that in which the grid had them.
std::vector<std::string> values_of(const ResultsTable& table, const std::string& axis) {
  std::set<std::string> seen;
  std::vector<std::string> values;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const std::string& value = table.text(row, axis);
    if (seen.insert(value).second) values.push_back(value);
  }
  return values;
}

// `found` is what the manifest has of the axis.
Status check_values(const std::vector<std::string>& values, const Json& found) {
  if (!found.is_array()) {
    return Status::invalid_input(fmt::format(": found {}; expected an array", json_text(found)));
  }
  for (std::size_t i = 0; i < std::max(values.size(), found.size()); ++i) {
    const Json here = i < found.size() ? found[i] : Json();
    const Json wanted = i < values.size() ? Json(values[i]) : Json();
    if (here == wanted && !here.is_null()) continue;
    const auto told = [](const Json& json) { return json.is_null() ? "none" : json_text(json); };
    return Status::invalid_input(
        fmt::format("[{}]: found {}; expected {}, as sweep.csv has", i, told(here), told(wanted)));
  }
  return Status::ok();
}

Result<std::vector<std::string>> axes_of(const ResultsFolder& folder) {
  const Json& manifest = folder.manifest;
  if (!manifest.contains("grid") || !manifest["grid"].is_object() ||
      !manifest["grid"].contains("axes") || !manifest["grid"]["axes"].is_object()) {
    return Status::invalid_input(folder.path + "/manifest.json, grid.axes: expected an object");
  }
  const std::string where = folder.path + "/manifest.json, grid.axes";
  std::vector<std::string> axes;
  std::size_t points = 1;
  for (const auto& [name, found] : manifest["grid"]["axes"].items()) {
    if (!folder.table.has(name)) {
      return Status::invalid_input(fmt::format(
          "{}/sweep.csv: found no column {}; expected one per axis", folder.path, name));
    }
    const std::vector<std::string> values = values_of(folder.table, name);
    const Status status = check_values(values, found);
    if (!status.is_ok())
      return Status::invalid_input(fmt::format("{}.{}{}", where, name, status.message()));
    axes.push_back(name);
    points *= values.size();
  }
  if (points != folder.table.rows()) {
    return Status::invalid_input(
        fmt::format("{}: found axes of {} points; expected {}, as many as sweep.csv has rows",
                    where, points, folder.table.rows()));
  }
  for (const std::string_view column : {"outcome", "error"}) {
    if (folder.table.has(column)) continue;
    return Status::invalid_input(
        fmt::format("{}/sweep.csv: expected a column {}", folder.path, column));
  }
  return axes;
}

// "allocator paged, scale_rate 2": what a point is set to, except for the axes that are left out.
std::string settings_text(const Json& settings, std::string_view left_out) {
  std::string text;
  for (const auto& [name, value] : settings.items()) {
    if (name == left_out) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, value.get<std::string>());
  }
  return text;
}

bool is_contiguous_point(const ResultsFolder& folder, const Json& settings) {
  const bool is_axis = settings.contains(kAllocator);
  const Json& grid = folder.manifest["grid"];
  return text_of(is_axis                 ? settings
                 : grid.contains("base") ? grid["base"]
                                         : Json(),
                 std::string(kAllocator))
      .starts_with("contiguous");
}

bool has_limits(const ResultsFolder& folder) {
  const Json& grid = folder.manifest["grid"];
  const Json base =
      grid.contains("base") && grid["base"].is_object() ? grid["base"] : Json::object();
  for (const char* limit : {"ttft_limit_ms", "tpot_limit_ms"}) {
    if (folder.table.has(limit) || (base.contains(limit) && base[limit].is_number())) return true;
  }
  return false;
}

Result<std::int64_t> block_size_of(const ResultsFolder& folder, std::size_t row) {
  const std::string& text = folder.table.text(row, kBlockSize);
  std::int64_t size = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
  if (error == std::errc() && end == text.data() + text.size()) return size;
  return Status::invalid_input(
      fmt::format("{}/sweep.csv, line {}, block_size: found '{}'; expected a whole number",
                  folder.path, row + 2, text));
}

// A point's configuration: the grid's base, and what the axes set.
Result<RunConfig> config_of(const ResultsFolder& folder, const Json& settings) {
  const std::string where = folder.path + "/manifest.json, grid.";
  const Json& grid = folder.manifest["grid"];
  Result<RunConfig> config =
      run_config_from_json(grid.contains("base") ? grid["base"] : Json::object());
  RECTO_RETURN_IF_ERROR(config.status().in(where + "base"));
  for (const auto& [name, value] : settings.items()) {
    const RunField* field = find_run_field(name);
    if (field == nullptr) {
      return Status::invalid_input(where + "axes: found " + name + "; expected a setting");
    }
    const Status set = set_field(config.value(), *field, value.get<std::string>());
    RECTO_RETURN_IF_ERROR(set.in(where + "axes, " + name));
  }
  return config;
}

// Nulls for a point that failed.
Result<Json> metrics_of_point(const ResultsFolder& folder, std::size_t row) {
  const ResultsTable& table = folder.table;
  const std::string& outcome = table.text(row, "outcome");
  if (outcome == "failed") return no_metrics(sweep_metrics());
  if (outcome != "ok") return table.refusal(row, "outcome", "ok or failed");
  return metrics_by_seed_json(table, folder.seed_tables, row, sweep_metrics());
}

// The share of the seeds under which means go on to the last answer; null where nothing was served.
Result<Json> covers_drain_of_point(const ResultsTable& table, std::size_t row,
                                   const Json& metrics) {
  if (!metrics["normalized_mean_s"].is_number()) return Json();
  if (!table.has("covers_drain")) return table.no_column("covers_drain");
  const auto share = table.number(row, "covers_drain");
  RECTO_RETURN_IF_ERROR(share.status());
  if (!share.value()) return table.refusal(row, "covers_drain", "a number");
  return Json(*share.value());
}

// For a point with figures; the others were not run.
Status add_kernel_time_of_point(const ResultsFolder& folder, const Json& settings, Json& metrics) {
  if (!metrics["normalized_mean_s"].is_number()) return Status::ok();
  const Result<RunConfig> config = config_of(folder, settings);
  RECTO_RETURN_IF_ERROR(config.status());
  return add_kernel_time(config.value(), metrics);
}

// What the step times of points with figures are based on, each once.
Result<Json> time_models_of(const ResultsTable& table) {
  Json models = Json::array();
  for (const char* column : {"time_model", "time_model_provenance"}) {
    if (!table.has(column)) return table.no_column(column);
  }
  for (std::size_t row = 0; row < table.rows(); ++row) {
    if (table.text(row, "outcome") == "failed") continue;
    const Json model = {{"name", table.text(row, "time_model")},
                        {"provenance", table.text(row, "time_model_provenance")}};
    if (std::ranges::find(models, model) == models.end()) models.push_back(model);
  }
  return models;
}

}  // namespace

std::vector<std::string> notes_on(const ResultsFolder& folder, const Json& rows) {
  std::vector<std::string> notes;
  const std::string rejected = rejected_note(rows, folder.seeds);
  if (!rejected.empty()) notes.push_back(rejected);
  const std::string before = commit_of(folder);
  if (before == commit()) return notes;
  const char* what = folder.kind == ResultsKind::kSweep
                         ? "its numbers were not computed again"
                         : "its runs, repeated under the first seed, gave the same numbers";
  notes.insert(notes.begin(),
               fmt::format("The results are of recto of commit {}, this page of commit {}: {}.",
                           before.empty() ? "unknown" : before, commit(), what));
  return notes;
}

Result<Json> sweep_data(const ResultsFolder& folder) {
  const Result<std::vector<std::string>> axes = axes_of(folder);
  RECTO_RETURN_IF_ERROR(axes.status());
  const Result<Json> time_models = time_models_of(folder.table);
  RECTO_RETURN_IF_ERROR(time_models.status());
  Json rows = Json::array();
  BlockSizePanels panels;
  for (std::size_t i = 0; i < folder.table.rows(); ++i) {
    Json settings = Json::object();
    for (const std::string& axis : axes.value()) settings[axis] = folder.table.text(i, axis);
    auto metrics = metrics_of_point(folder, i);
    RECTO_RETURN_IF_ERROR(metrics.status());
    RECTO_RETURN_IF_ERROR(add_kernel_time_of_point(folder, settings, metrics.value()));
    const Result<Json> covers_drain = covers_drain_of_point(folder.table, i, metrics.value());
    RECTO_RETURN_IF_ERROR(covers_drain.status());
    Json row = {{"label", settings.empty() ? "point 0" : settings_text(settings, "")},
                {"settings", settings},
                {"block_size", Json()},
                {"error", folder.table.text(i, "error")},
                {"covers_drain", covers_drain.value()},
                {"metrics", metrics.value()}};
    if (settings.contains(kBlockSize) && !is_contiguous_point(folder, settings)) {
      const Result<std::int64_t> size = block_size_of(folder, i);
      RECTO_RETURN_IF_ERROR(size.status());
      row["block_size"] = size.value();
      panels.add(settings_text(settings, kBlockSize), size.value(), i, metrics.value());
    }
    rows.push_back(std::move(row));
  }
  for (Json& row : rows) row["metrics"].erase(kBySeed);
  const bool limits = has_limits(folder);
  const Throughput throughput = limits ? Throughput::kGoodput : Throughput::kTokens;
  return Json{{"kind", "sweep"},
              {"notes", notes_on(folder, rows)},
              {"seeds", folder.seeds},
              {"setting", counted(folder.table.rows(), "point")},
              {"axes", axes.value()},
              {"has_limits", limits},
              {"time_models", time_models.value()},
              {"rows", rows},
              {"panels", panels.json(throughput, folder.seeds)}};
}

}  // namespace recto::experiments
