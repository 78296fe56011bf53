#include "experiments/support/manifest.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>
#include <system_error>

#include "experiments/support/length_source.h"
#include "experiments/support/time_model_flag.h"
#include "experiments/support/version.h"

namespace recto::experiments {
namespace {

std::string hexadecimal(XXH128_hash_t hash) {
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

}  // namespace

std::vector<std::string> input_files(const RunConfig& config) {
  std::vector<std::string> files;
  if (!config.trace.empty()) files.push_back(config.trace);
  if (!config.model_file.empty()) files.push_back(config.model_file);
  for (const std::string& text : {config.prompts, config.follow_ups, config.outputs}) {
    if (const std::optional<std::string> file = lengths_file(text)) files.push_back(*file);
  }
  // One that there is not is told where the run is set up.
  const Result<TimeModelChoice> time_model = choose_time_model(config.time_model);
  if (time_model.is_ok() && !time_model.value().file.empty()) {
    files.push_back(time_model.value().file);
  }
  return files;
}

Status check_no_input(const std::string& output, const std::vector<std::string>& inputs) {
  for (const std::string& input : inputs) {
    std::error_code error;  // a file that is not there is equivalent to none
    if (std::filesystem::equivalent(output, input, error) && !error) {
      return Status::invalid_input(
          fmt::format("{}: is an input of this run, {}; expected another place", output, input));
    }
  }
  return Status::ok();
}

Result<Json> describe_file(const std::string& path) {
  const auto reason = [&] { return Status::invalid_input(path + ": " + std::strerror(errno)); };
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                             std::fclose);
  if (file == nullptr) return reason();
  const std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)> state(XXH3_createState(),
                                                                              XXH3_freeState);
  XXH3_128bits_reset(state.get());
  std::array<char, 1 << 16> chunk;
  std::int64_t bytes = 0;
  while (const std::size_t size = std::fread(chunk.data(), 1, chunk.size(), file.get())) {
    XXH3_128bits_update(state.get(), chunk.data(), size);
    bytes += static_cast<std::int64_t>(size);
  }
  if (std::ferror(file.get()) != 0) return reason();
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

std::string content_hash(const std::string& text) {
  return hexadecimal(XXH3_128bits(text.data(), text.size()));
}

}  // namespace recto::experiments
