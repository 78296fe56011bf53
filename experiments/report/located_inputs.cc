#include "experiments/report/located_inputs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "core/json.h"
#include "experiments/report/text_field.h"
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

Result<LocatedInput> locate(const Json& input, const std::string& folder) {
  const std::string path = text_of(input, "path");
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
    if (found.value()["xxh3_128"] == text_of(input, "xxh3_128")) return LocatedInput{path, place};
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

Result<std::vector<LocatedInput>> locate_inputs(const Json& manifest, const std::string& folder) {
  std::vector<LocatedInput> located;
  if (!manifest.contains("inputs") || !manifest["inputs"].is_array()) return located;
  for (const Json& input : manifest["inputs"]) {
    Result<LocatedInput> one = locate(input, folder);
    RECTO_RETURN_IF_ERROR(one.status());
    located.push_back(std::move(one).value());
  }
  return located;
}

Status check_all_read(const std::vector<LocatedInput>& located,
                      const std::vector<RunConfig>& configs, const std::string& folder) {
  const std::string where = folder + "/manifest.json, inputs: found ";
  std::set<fs::path> told;
  for (const LocatedInput& input : located) told.insert(place_of(input.found));
  std::set<fs::path> read;
  for (const RunConfig& config : configs) {
    for (const std::string& file : input_files(config)) {
      read.insert(place_of(file));
      if (told.contains(place_of(file))) continue;
      return Status::invalid_input(
          fmt::format("{}no {}; expected each file that the configurations read", where, file));
    }
  }
  for (const LocatedInput& input : located) {
    if (read.contains(place_of(input.found))) continue;
    return Status::invalid_input(fmt::format(
        "{}{}, which no configuration reads; expected none but those", where, input.named));
  }
  return Status::ok();
}

}  // namespace recto::experiments
