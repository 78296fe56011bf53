#include "experiments/report/results_folder.h"

#include <fmt/format.h>

#include <utility>

#include "experiments/report/located_inputs.h"
#include "experiments/support/manifest.h"
#include "experiments/support/text_file.h"

namespace recto::experiments {
namespace {

// Pictures and numbers on one page must come from one run.
Status check_content(const Json& manifest, const std::string& name, const std::string& path,
                     const std::string& text) {
  if (!manifest.contains("files")) return Status::ok();  // a sweep's file grows with its journal
  const Json& files = manifest["files"];
  const bool is_listed = files.is_object() && files.contains(name) && files[name].is_object() &&
                         files[name].contains("xxh3_128");
  if (is_listed && files[name]["xxh3_128"] == content_hash(text)) return Status::ok();
  return Status::invalid_input(fmt::format(
      "{}: is not the file that manifest.json tells of; expected both from one run", path));
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
  const Result<std::string> text = read_text_file(csv_path);
  RECTO_RETURN_IF_ERROR(text.status());
  RECTO_RETURN_IF_ERROR(check_content(folder.manifest, name, csv_path, text.value()));
  Result<ResultsTable> table = ResultsTable::parse(text.value(), csv_path);
  RECTO_RETURN_IF_ERROR(table.status());
  folder.table = std::move(table).value();
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
  if (folder.configs.size() != folder.table.rows()) {
    return Status::invalid_input(
        fmt::format("{}, configurations: found {}; expected {}, one per "
                    "row of {}",
                    manifest_path, folder.configs.size(), folder.table.rows(), name));
  }
  return folder;
}

}  // namespace recto::experiments
