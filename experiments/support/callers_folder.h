#pragma once

namespace recto::experiments {

// Enters the caller's folder, since `bazel run` starts programs in a folder of its own, and
// relative paths mean the caller's. Reports on standard error if it could not enter it.
void enter_callers_folder();

}  // namespace recto::experiments
