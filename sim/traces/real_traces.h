#pragma once

// Finds the public traces for tests; they are not part of this repository.

#include <optional>
#include <string>
#include <string_view>

namespace recto::testing {

// Returns the path of `file` in the folder named by the environment variable RECTO_TRACES or, if
// that is not set, in shared/traces beside the workspace; nullopt if it does not exist. Use:
//
//   const auto path = recto::testing::find_real_trace("azure-llm-2023-conv.csv");
//   if (!path) RECTO_SKIP(recto::testing::kNoRealTrace);
std::optional<std::string> find_real_trace(std::string_view file);

inline constexpr std::string_view kNoRealTrace =
    "the public traces are not here; get them with tools/get_traces, name their folder in "
    "RECTO_TRACES";

}  // namespace recto::testing
