#include "experiments/support/manifest.h"

#include <fmt/format.h>
#include <xxhash.h>
#include <CLI/Version.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/input_file.h"
#include "core/json.h"
#include "experiments/support/output_file.h"
#include "experiments/support/request_source.h"
#include "experiments/support/stamp.h"
#include "experiments/support/time_model.h"

namespace recto::experiments {
namespace {

std::string hexadecimal(XXH128_hash_t hash) {
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

// Commands and their result files, except manifests.
constexpr std::pair<std::string_view, std::string_view> kResultFiles[] = {
    {"fragmentation", "fragmentation.csv"},
    {"fragmentation", "series.csv"},
    {"sweep", "sweep.csv"},
    {"numerics", "sharpness.csv"},
    {"numerics", "thresholds.csv"}};

}  // namespace

std::vector<std::string> input_files(const RunConfig& config) {
  std::vector<std::string> files;
  for (const std::string& file : {config.trace, config.model_file}) {
    if (!file.empty()) files.push_back(file);
  }
  for (const std::string& lengths : {config.prompts, config.follow_ups, config.outputs}) {
    if (std::optional<std::string> file = lengths_file(lengths)) files.push_back(*file);
  }
  // A missing file is reported where the run is set up.
  const Result<TimeModelChoice> time_model = choose_time_model(config.time_model);
  if (time_model.is_ok() && !time_model.value().file.empty()) {
    files.push_back(time_model.value().file);
  }
  return files;
}

Status check_no_input(const std::string& output, const std::vector<std::string>& inputs) {
  for (const std::string& input : inputs) {
    std::error_code error;  // a missing file is equivalent to none
    if (std::filesystem::equivalent(output, input, error) && !error) {
      return Status::invalid_input(
          fmt::format("{}: is an input of this run, {}; expected another place", output, input));
    }
  }
  return Status::ok();
}

Result<Json> describe_file(const std::string& path) {
  if (std::error_code unknown; std::filesystem::is_fifo(path, unknown)) {
    return Status::invalid_input(path + ": is a pipe, which is read once; expected a file");
  }
  const Result<InputFile> opened = open_input_file(path);
  RECTO_RETURN_IF_ERROR(opened.status().in(path));
  std::FILE* const file = opened.value().get();
  const std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)> state(XXH3_createState(),
                                                                              XXH3_freeState);
  XXH3_128bits_reset(state.get());
  std::array<char, 1 << 16> chunk;
  std::int64_t bytes = 0;
  while (const std::size_t size = std::fread(chunk.data(), 1, chunk.size(), file)) {
    XXH3_128bits_update(state.get(), chunk.data(), size);
    bytes += static_cast<std::int64_t>(size);
  }
  if (std::ferror(file) != 0) return Status::invalid_input(path + ": " + std::strerror(errno));
  return Json{{"path", path},
              {"bytes", bytes},
              {"xxh3_128", hexadecimal(XXH3_128bits_digest(state.get()))}};
}

Result<Json> begin_manifest(const std::string& command, const std::vector<RunConfig>& configs) {
  std::vector<std::string> paths;
  Json inputs = Json::array();
  for (const RunConfig& config : configs) {
    for (const std::string& path : input_files(config)) {
      if (std::ranges::find(paths, path) != paths.end()) continue;
      paths.push_back(path);
      const Result<Json> file = describe_file(path);
      RECTO_RETURN_IF_ERROR(file.status());
      inputs.push_back(file.value());
    }
  }
  return Json{{"recto", version_json()}, {"command", command}, {"inputs", inputs}};
}

Result<Json> read_manifest(const std::string& folder) {
  const std::string path = folder + "/manifest.json";
  const Result<std::string> text = read_text_file(path);
  RECTO_RETURN_IF_ERROR(text.status());
  if (text.value().find('\0') != std::string::npos) {  // the parser would end there
    return Status::invalid_input(path + ": found a NUL byte; expected JSON");
  }
  Result<Json> manifest = parse_json(text.value());
  if (manifest.is_ok()) {
    const Json* const command = manifest.value().find("command");
    if (command != nullptr && command->is_string()) return manifest;
  }
  return Status::invalid_input(path +
                               ": found no manifest of recto; expected a JSON object with the "
                               "field command");
}

Status check_own_folder(const std::string& folder, std::string_view command) {
  std::error_code unknown;
  if (!std::filesystem::exists(folder + "/manifest.json", unknown)) return Status::ok();
  const std::string expected = fmt::format("expected a new folder, or one of recto {}", command);
  const Result<Json> manifest = read_manifest(folder);
  if (!manifest.is_ok()) {
    return Status::invalid_input(fmt::format("{}; {}", manifest.status().message(), expected));
  }
  const std::string found = manifest.value()["command"].get<std::string>();
  if (found == command) return Status::ok();
  return Status::invalid_input(
      fmt::format("{}: holds results of recto {}; {}", folder, found, expected));
}

std::string content_hash(const std::string& text) {
  return hexadecimal(XXH3_128bits(text.data(), text.size()));
}

Json written_file(const std::string& text) {
  return {{"bytes", text.size()}, {"xxh3_128", content_hash(text)}};
}

Status write_noted_file(const std::string& folder, const std::string& name, const std::string& text,
                        Json& files) {
  files[name] = written_file(text);
  return write_file(folder + '/' + name, text);
}

Status check_written_files(const std::string& folder, const Json& manifest) {
  const Json files = manifest.value("files", Json::object());
  for (const auto& [command, file] : kResultFiles) {
    if (manifest["command"] != command) continue;
    const std::string name(file);
    const bool is_noted = files.is_object() && files.contains(name) && files[name].is_object() &&
                          files[name].contains("xxh3_128");
    if (!is_noted) {
      return Status::invalid_input(
          fmt::format("{}/manifest.json, files: found no {}; expected its hash, which recto {} "
                      "writes; run it again",
                      folder, name, command));
    }
    const std::string path = folder + '/' + name;
    const Result<Json> found = describe_file(path);
    RECTO_RETURN_IF_ERROR(found.status());
    if (found.value()["xxh3_128"] == files[name]["xxh3_128"]) continue;
    return Status::invalid_input(
        fmt::format("{}: does not match manifest.json; expected both from one run", path));
  }
  return Status::ok();
}

std::string commit() { return kStampedCommit; }

std::string commit_day() { return kStampedDay; }

Json version_json() {
  const auto json = json_library();
  return {{"version", kVersion},
          {"commit", commit()},
          {"compiler", __VERSION__},
          {"libraries",
           {{"CLI11", CLI11_VERSION},
            {"fmt", fmt::format("{}.{}.{}", FMT_VERSION / 10000, FMT_VERSION / 100 % 100,
                                FMT_VERSION % 100)},
            {json.first, json.second}}}};
}

}  // namespace recto::experiments
