#include "experiments/sweep/sweep_identity.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/json.h"
#include "experiments/support/manifest.h"
#include "experiments/support/remarks.h"
#include "experiments/sweep/sweep_columns.h"
#include "experiments/sweep/sweep_journal.h"

namespace recto::experiments {
namespace {

Json column_names() { return sweep_columns(); }

// Keeps the first configuration for each list of files.
class ConfigsByInputs {
 public:
  void add(RunConfig config) {
    if (seen_.insert(input_files(config)).second) configs_.push_back(std::move(config));
  }
  const std::vector<RunConfig>& configs() const { return configs_; }

 private:
  std::set<std::vector<std::string>> seen_;
  std::vector<RunConfig> configs_;
};

// The JSON as read back after writing, which changes names that are not UTF-8.
Json as_written(const Json& json) { return parse_json(json_text(json)).value(); }

}  // namespace

std::vector<RunConfig> point_configs(const SweepGrid& grid) {
  std::vector<RunConfig> configs;
  for (std::int64_t point = 0; point < grid.point_count(); ++point) {
    configs.push_back(grid.run_config(point * grid.seed_count()));
  }
  return configs;
}

std::set<std::string> remarks_on(const SweepGrid& grid) {
  const std::vector<RunConfig> configs = point_configs(grid);
  std::set<std::string> remarks;
  for (const RunConfig& config : configs) remarks.insert(provenance_remark(config));
  for (const std::string& remark : grid_remarks(configs)) remarks.insert(wrapped(remark));
  return remarks;
}

Result<Json> describe_sweep(const SweepGrid& grid) {
  ConfigsByInputs distinct;
  for (std::int64_t point = 0; point < grid.point_count(); ++point) {
    distinct.add(grid.run_config(point * grid.seed_count()));
  }
  Result<Json> manifest = begin_manifest("sweep", distinct.configs());
  RECTO_RETURN_IF_ERROR(manifest.status());
  manifest.value()["grid"] = to_json(grid);
  manifest.value()["columns"] = column_names();
  manifest.value()["remarks"] = remarks_on(grid);
  return as_written(manifest.value());
}

Result<Json> describe_part(const SweepGrid& grid, const std::vector<RunSpan>& spans) {
  ConfigsByInputs distinct;
  for (const RunSpan& span : spans) {
    for (std::int64_t run = span.first; run <= span.last; ++run) distinct.add(grid.run_config(run));
  }
  const Result<Json> manifest = begin_manifest("sweep", distinct.configs());
  RECTO_RETURN_IF_ERROR(manifest.status());
  return as_written({{"recto", manifest.value()["recto"]},
                     {"inputs", manifest.value()["inputs"]},
                     {"columns", column_names()}});
}

Status check_part_of(const Json& manifest, const Json& part) {
  Json expected{
      {"recto", manifest["recto"]}, {"inputs", Json::array()}, {"columns", manifest["columns"]}};
  if (part.contains("inputs") && part["inputs"].is_array()) {
    for (const Json& input : part["inputs"]) {
      for (const Json& known : manifest["inputs"]) {
        if (input.is_object() && input.contains("path") && input["path"] == known["path"]) {
          expected["inputs"].push_back(known);
        }
      }
    }
  }
  if (part == expected) return Status::ok();
  return Status::invalid_input(
      fmt::format("runs of another recto, or on other files, than those of this sweep ({})",
                  differences(expected, part)));
}

Status check_reads(const Json& part, const RunConfig& config) {
  for (const std::string& file : input_files(config)) {
    const Json path = as_written(file);
    const bool is_told = std::ranges::any_of(
        part["inputs"], [&](const Json& input) { return input["path"] == path; });
    if (is_told) continue;
    const bool is_measured = config.time_model.starts_with("measured:");
    return Status::invalid_input(fmt::format(
        "a run without {}, which it reads here; expected the same file on each machine{}", file,
        is_measured ? " (RECTO_GPU_RESULTS names the folder of measured times)" : ""));
  }
  return Status::ok();
}

}  // namespace recto::experiments
