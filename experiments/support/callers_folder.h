#pragma once

namespace recto::experiments {

// `bazel run` starts programs in a folder of its own; relative paths mean the caller's. Says on
// standard error what it could not enter.
void enter_callers_folder();

}  // namespace recto::experiments
