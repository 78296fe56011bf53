#include "experiments/report/results_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "core/json.h"
#include "experiments/report/report_metrics.h"
#include "experiments/support/manifest.h"
#include "experiments/support/manifest_fields.h"
#include "experiments/support/output_file.h"
#include "experiments/support/run_config.h"

namespace recto::experiments {
namespace {

std::string told(const Json& json) { return json.is_null() ? "none" : json_text(json); }

Status refusal(const std::string& where, const Json& found, const std::string& expected) {
  return Status::invalid_input(
      fmt::format("{}: found {}; expected {}", where, told(found), expected));
}

// The grid of a sweep; empty if the manifest has none.
Json grid_of(const ResultsFolder& folder) { return folder.manifest.value("grid", Json::object()); }

// The seeds of a study or sweep; 1 by default. Must agree with the table.
Status read_seeds(ResultsFolder& folder) {
  const std::string where = folder.manifest_path() + (folder.is_sweep ? ", grid.seeds" : ", seeds");
  const Json seeds = (folder.is_sweep ? grid_of(folder) : folder.manifest).value("seeds", Json(1));
  if (!seeds.is_number_integer() || seeds.get<std::int64_t>() < 1) {
    return refusal(where, seeds, "an integer from 1");
  }
  const Result<std::optional<std::size_t>> in_table = folder.table.seeds();
  RECTO_RETURN_IF_ERROR(in_table.status());
  folder.seeds = seeds.get<std::int64_t>();
  if (seeds == in_table.value().value_or(folder.seeds)) return Status::ok();
  return refusal(where, seeds,
                 fmt::format("{}, as {}.csv has", *in_table.value(),
                             folder.manifest["command"].get<std::string>()));
}

// Each value once, in the order of the rows, which is the grid's.
std::vector<std::string> values_of(const ResultsTable& table, const std::string& axis) {
  std::set<std::string> seen;
  std::vector<std::string> values;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    const std::string& value = table.text(row, axis);
    if (seen.insert(value).second) values.push_back(value);
  }
  return values;
}

Status read_axes(ResultsFolder& folder) {
  const std::string where = folder.manifest_path() + ", grid.axes";
  const Json axes = grid_of(folder).value("axes", Json());
  if (!axes.is_object()) return Status::invalid_input(where + ": expected an object");
  std::size_t points = 1;
  for (const auto& [name, found] : axes.items()) {
    RECTO_RETURN_IF_ERROR(folder.table.expect(name));
    const std::string axis = where + '.' + name;
    if (!found.is_array()) return refusal(axis, found, "an array");
    const std::vector<std::string> values = values_of(folder.table, name);
    for (std::size_t i = 0; i < std::max(values.size(), found.size()); ++i) {
      const Json here = i < found.size() ? found[i] : Json();
      const Json wanted = i < values.size() ? Json(values[i]) : Json();
      if (here == wanted && !here.is_null()) continue;
      return refusal(fmt::format("{}[{}]", axis, i), here, told(wanted) + ", as sweep.csv has");
    }
    folder.axes.push_back(name);
    points *= values.size();
  }
  if (points == folder.table.rows()) return Status::ok();
  return Status::invalid_input(
      fmt::format("{}: found axes of {} points; expected {}, as many as sweep.csv has rows", where,
                  points, folder.table.rows()));
}

// Each point's configuration: the grid's base with the point's axis values.
Status read_point_configs(ResultsFolder& folder) {
  for (const char* column :
       {"outcome", "error", "covers_drain", "time_model", "time_model_provenance"}) {
    RECTO_RETURN_IF_ERROR(folder.table.expect(column));
  }
  RECTO_RETURN_IF_ERROR(read_axes(folder));
  const std::string where = folder.manifest_path() + ", grid.";
  const Result<RunConfig> base =
      run_config_from_json(grid_of(folder).value("base", Json::object()));
  RECTO_RETURN_IF_ERROR(base.status().in(where + "base"));
  for (std::size_t row = 0; row < folder.table.rows(); ++row) {
    RunConfig config = base.value();
    for (const std::string& axis : folder.axes) {
      const RunField* field = find_run_field(axis);
      if (field == nullptr) return refusal(where + "axes", axis, "a setting");
      const Status set = set_field(config, *field, folder.table.text(row, axis));
      RECTO_RETURN_IF_ERROR(set.in(where + "axes, " + axis));
    }
    folder.configs.push_back(std::move(config));
  }
  return Status::ok();
}

}  // namespace

Result<ResultsFolder> read_results_folder(const std::string& path) {
  ResultsFolder folder;
  folder.path = path;
  Result<Json> manifest = read_manifest(path);
  if (!manifest.is_ok()) {
    return Status::invalid_input("folder: " + manifest.status().message() +
                                 "; expected a folder that recto fragmentation --out or recto "
                                 "sweep --out has written");
  }
  folder.manifest = std::move(manifest).value();
  const auto command = folder.manifest["command"].get<std::string>();
  folder.is_sweep = command == "sweep";
  if (!folder.is_sweep && command != "fragmentation") {
    return Status::invalid_input(
        fmt::format("{}, command: found '{}'; expected fragmentation or sweep",
                    folder.manifest_path(), command));
  }
  RECTO_RETURN_IF_ERROR(check_written_files(path, folder.manifest));
  RECTO_RETURN_IF_ERROR(check_manifest_fields(folder.manifest, folder.manifest_path()));
  const std::string csv_path = fmt::format("{}/{}.csv", path, command);
  const Result<std::string> text = read_text_file(csv_path);
  RECTO_RETURN_IF_ERROR(text.status());
  Result<ResultsTable> table = ResultsTable::parse(text.value(), csv_path);
  RECTO_RETURN_IF_ERROR(table.status());
  folder.table = std::move(table).value();
  RECTO_RETURN_IF_ERROR(expect_metrics(folder.table, metric_column(folder)));
  RECTO_RETURN_IF_ERROR(read_seeds(folder));
  if (folder.is_sweep) RECTO_RETURN_IF_ERROR(read_point_configs(folder));
  return folder;
}

}  // namespace recto::experiments
