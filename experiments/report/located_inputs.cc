#include "experiments/report/located_inputs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <optional>
#include <system_error>

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

Result<LocatedInput> locate(const Json& input, const std::string& folder) {
  const std::string path = text_of(input, "path");
  const std::string manifest = folder + "/manifest.json";
  std::optional<std::string> changed;
  for (const std::string& place : places_of(path, folder)) {
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

}  // namespace recto::experiments
