#include "experiments/support/version.h"

#include <fmt/format.h>

#include <CLI/Version.hpp>

#include "core/json.h"
#include "experiments/support/stamp.h"

namespace recto::experiments {
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
