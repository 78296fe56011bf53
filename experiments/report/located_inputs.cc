#include "experiments/report/located_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "core/json.h"
#include "experiments/support/manifest.h"

namespace recto::experiments {
namespace {

namespace fs = std::filesystem;

// Results are mostly in or below the folder in which the command was run.
std::vector<std::string> places_of(const std::string& path, const std::string& folder) {
  std::vector<std::string> places{path};
  if (fs::path(path).is_absolute()) return places;
  std::error_code gone;
  fs::path above = fs::weakly_canonical(folder, gone);
  while (!above.empty()) {
    places.push_back(above / path);
    if (above == above.root_path()) break;
    above = above.parent_path();
  }
  return places;
}

// The place, or files beside it whose names are written like its own: in a manifest, U+FFFD stands
// for bytes that are not UTF-8.
std::vector<std::string> written_alike(const std::string& place) {
  std::vector<std::string> alike{place};
  const fs::path path = place;
  const std::string name = json_text(Json(path.filename().string()));
  if (name.find("\xef\xbf\xbd") == std::string::npos) return alike;
  std::error_code gone;
  fs::directory_iterator entry(path.has_parent_path() ? path.parent_path() : ".", gone);
  for (; !gone && entry != fs::directory_iterator(); entry.increment(gone)) {
    const fs::path other = entry->path().filename();
    if (json_text(Json(other.string())) == name)
      alike.push_back(path.has_parent_path() ? entry->path().string() : other.string());
  }
  std::ranges::sort(alike);
  return alike;
}

// The present path of an input of the manifest.
Result<std::string> locate(const Json& input, const std::string& folder) {
  const auto path = input["path"].get<std::string>();
  const std::string manifest = folder + "/manifest.json";
  std::optional<std::string> changed;
  std::vector<std::string> places;
  for (const std::string& place : places_of(path, folder))
    for (std::string& alike : written_alike(place)) places.push_back(std::move(alike));
  for (const std::string& place : places) {
    std::error_code unknown;
    if (!fs::is_regular_file(place, unknown)) continue;
    const Result<Json> found = describe_file(place);
    RECTO_RETURN_IF_ERROR(found.status());
    if (found.value()["xxh3_128"] == input["xxh3_128"]) return place;
    if (!changed) changed = place;
  }
  if (changed) {
    return Status::invalid_input(fmt::format(
        "{}: has changed since {} was written; expected the same file", *changed, manifest));
  }
  return Status::invalid_input(fmt::format(
      "{}, inputs: found {}, which is neither here, nor in {} or above it; expected the "
      "file with which the study was made: call recto where that was, or lay it beside "
      "the manifest",
      manifest, path, folder));
}

// The same for all spellings of a path.
fs::path place_of(const std::string& path) {
  std::error_code gone;
  return fs::weakly_canonical(fs::absolute(path, gone), gone);
}

}  // namespace

Status locate_inputs(const Json& manifest, const std::string& folder,
                     std::vector<RunConfig>& configs) {
  std::vector<std::pair<std::string, fs::path>> inputs;  // as the manifest names each, and where
  const Json named = manifest.value("inputs", Json::array());
  for (const Json& input : named) {
    const Result<std::string> found = locate(input, folder);
    RECTO_RETURN_IF_ERROR(found.status());
    const auto path = input["path"].get<std::string>();
    for (RunConfig& config : configs) replace_input(config, path, found.value());
    inputs.emplace_back(path, place_of(found.value()));
  }
  const std::string where = folder + "/manifest.json, inputs: found ";
  std::set<fs::path> read;
  for (const RunConfig& config : configs) {
    for (const std::string& file : input_files(config)) {
      const fs::path place = place_of(file);
      read.insert(place);
      const auto is_it = [&](const auto& input) { return input.second == place; };
      if (std::ranges::any_of(inputs, is_it)) continue;
      return Status::invalid_input(
          fmt::format("{}no {}; expected each file that the configurations read", where, file));
    }
  }
  for (const auto& [path, place] : inputs) {
    if (read.contains(place)) continue;
    return Status::invalid_input(
        fmt::format("{}{}, which no configuration reads; expected none but those", where, path));
  }
  return Status::ok();
}

}  // namespace recto::experiments
