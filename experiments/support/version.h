#pragma once

// Which recto this is.

#include <string>

#include "experiments/support/run_config.h"

namespace recto::experiments {

inline constexpr const char* kVersion = "0.1.0";

// The commit that this program was built from: as stamped by the build (STABLE_GIT_COMMIT of a
// --workspace_status_command); else, under `bazel run`, as git has it, with "-dirty" where files
// were changed; else "unknown".
std::string commit();

// Version, commit, compiler and libraries, for manifests.
Json version_json();

}  // namespace recto::experiments
