#include "experiments/support/version.h"

#include <fmt/format.h>

#include <CLI/Version.hpp>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "experiments/support/stamp.h"

namespace recto::experiments {
namespace {

// What a shell takes as one word, whatever it holds.
std::string shell_word(std::string_view text) {
  std::string word = "'";
  for (const char c : text) {
    if (c == '\'') {
      word += "'\\''";
    } else {
      word += c;
    }
  }
  return word + "'";
}

std::string commit_of_folder(const std::string& folder) {
  const std::string command = "git -C " + shell_word(folder) +
                              " describe --always --abbrev=40 --exclude='*' --dirty 2>/dev/null";
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  if (pipe == nullptr) return "";
  std::string text;
  for (int c = std::fgetc(pipe.get()); c != EOF && c != '\n'; c = std::fgetc(pipe.get())) {
    text += static_cast<char>(c);
  }
  return text;
}

}  // namespace

std::string commit() {
  const std::string_view stamped = kStampedCommit;
  if (!stamped.empty()) return std::string(stamped);
  const char* workspace = std::getenv("BUILD_WORKSPACE_DIRECTORY");
  const std::string found = workspace == nullptr ? "" : commit_of_folder(workspace);
  return found.empty() ? "unknown" : found;
}

Json version_json() {
  return {
      {"version", kVersion},
      {"commit", commit()},
      {"compiler", __VERSION__},
      {"libraries",
       {{"CLI11", CLI11_VERSION},
        {"fmt",
         fmt::format("{}.{}.{}", FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100)},
        {"nlohmann-json", fmt::format("{}.{}.{}", NLOHMANN_JSON_VERSION_MAJOR,
                                      NLOHMANN_JSON_VERSION_MINOR, NLOHMANN_JSON_VERSION_PATCH)}}}};
}

}  // namespace recto::experiments
