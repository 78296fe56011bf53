#include "experiments/support/version.h"

#include <fmt/format.h>

#include <CLI/Version.hpp>

#include "experiments/support/stamp.h"

namespace recto::experiments {
std::string commit() { return kStampedCommit; }

std::string commit_day() { return kStampedDay; }

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
