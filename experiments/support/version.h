#pragma once

// Which recto this is.

#include <string>

#include "experiments/support/run_config.h"

namespace recto::experiments {

inline constexpr const char* kVersion = "0.1.0";

// The commit that this program was built from, as git had it, with "-dirty" where files were
// changed; "unknown" if there was no git. //bazel:workspace_status.sh passes it to the build.
std::string commit();

// The day of that commit, as "2026-11-23", in UTC; empty if there was no git.
std::string commit_day();

// Version, commit, compiler and libraries, for manifests.
Json version_json();

}  // namespace recto::experiments
