#include "experiments/report/results_folder.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "core/json.h"
#include "experiments/report/located_inputs.h"
#include "experiments/report/text_field.h"
#include "experiments/support/manifest.h"
#include "experiments/support/manifest_fields.h"
#include "experiments/support/output_file.h"

namespace recto::experiments {
namespace {

// Of a study or of a sweep; 1 where nothing is said. Must be those of the table.
Result<std::int64_t> seeds_of(const ResultsFolder& folder, const std::string& path) {
  const bool is_sweep = folder.kind == ResultsKind::kSweep;
  const std::string where = path + (is_sweep ? ", grid.seeds" : ", seeds");
  const Json said = is_sweep ? folder.manifest.value("grid", Json::object()) : folder.manifest;
  const Json seeds = said.value("seeds", Json(1));
  if (!seeds.is_number_integer() || seeds.get<std::int64_t>() < 1) {
    return Status::invalid_input(
        fmt::format("{}: found {}; expected an integer from 1", where, json_text(seeds)));
  }
  const std::optional<std::size_t> told = folder.table.seeds();
  if (!told || seeds == *told) return seeds.get<std::int64_t>();
  return Status::invalid_input(fmt::format("{}: found {}; expected {}, as {}.csv has", where,
                                           json_text(seeds), *told,
                                           is_sweep ? "sweep" : "fragmentation"));
}

Result<std::vector<RunConfig>> configurations(const Json& manifest, const std::string& path) {
  if (!manifest.contains("configurations") || !manifest["configurations"].is_array()) {
    return Status::invalid_input(path + ", configurations: found none; expected an array");
  }
  std::vector<RunConfig> configs;
  for (const Json& settings : manifest["configurations"]) {
    Result<RunConfig> config = run_config_from_json(settings);
    RECTO_RETURN_IF_ERROR(
        config.status().in(fmt::format("{}, configurations {}", path, configs.size())));
    configs.push_back(std::move(config).value());
  }
  return configs;
}

}  // namespace

Result<ResultsFolder> read_results_folder(const std::string& path) {
  ResultsFolder folder;
  folder.path = path;
  const std::string manifest_path = path + "/manifest.json";
  Result<Json> manifest = read_manifest(path);
  if (!manifest.is_ok()) {
    return Status::invalid_input("folder: " + manifest.status().message() +
                                 "; expected a folder that recto fragmentation --out or recto "
                                 "sweep --out has written");
  }
  folder.manifest = std::move(manifest).value();
  const std::string command = folder.manifest["command"].get<std::string>();
  if (command != "fragmentation" && command != "sweep") {
    return Status::invalid_input(fmt::format(
        "{}, command: found '{}'; expected fragmentation or sweep", manifest_path, command));
  }
  folder.kind = command == "sweep" ? ResultsKind::kSweep : ResultsKind::kFragmentation;
  const std::string name = command + ".csv";
  const std::string csv_path = path + '/' + name;
  RECTO_RETURN_IF_ERROR(check_written_files(path, folder.manifest));
  RECTO_RETURN_IF_ERROR(check_manifest_fields(folder.manifest, manifest_path));
  const Result<std::string> text = read_text_file(csv_path);
  RECTO_RETURN_IF_ERROR(text.status());
  Result<ResultsTable> table = ResultsTable::parse(text.value(), csv_path);
  RECTO_RETURN_IF_ERROR(table.status());
  folder.table = std::move(table).value();
  const Result<std::int64_t> seeds = seeds_of(folder, manifest_path);
  RECTO_RETURN_IF_ERROR(seeds.status());
  folder.seeds = seeds.value();
  for (std::int64_t seed = 0; seed < folder.seeds && folder.seeds > 1; ++seed) {
    Result<ResultsTable> one = folder.table.of_seed(static_cast<std::size_t>(seed),
                                                    static_cast<std::size_t>(folder.seeds));
    RECTO_RETURN_IF_ERROR(one.status());
    folder.seed_tables.push_back(std::move(one).value());
  }
  if (folder.kind == ResultsKind::kSweep) return folder;
  Result<std::vector<RunConfig>> configs = configurations(folder.manifest, manifest_path);
  RECTO_RETURN_IF_ERROR(configs.status());
  folder.configs = std::move(configs).value();
  const auto located = locate_inputs(folder.manifest, path);
  RECTO_RETURN_IF_ERROR(located.status());
  for (RunConfig& config : folder.configs) {
    for (const LocatedInput& input : located.value()) {
      replace_input(config, input.named, input.found);
    }
  }
  RECTO_RETURN_IF_ERROR(check_all_read(located.value(), folder.configs, path));
  if (folder.configs.size() != folder.table.rows()) {
    return Status::invalid_input(
        fmt::format("{}, configurations: found {}; expected {}, one per "
                    "row of {}",
                    manifest_path, folder.configs.size(), folder.table.rows(), name));
  }
  return folder;
}

std::string commit_of(const ResultsFolder& folder) {
  return text_of(folder.manifest.value("recto", Json::object()), "commit");
}

}  // namespace recto::experiments
