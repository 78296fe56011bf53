#pragma once

// A program of commands, from its command line to its exit code.

#include <optional>

#include "experiments/support/command.h"

namespace recto::experiments {

// Called with the command that the line names chosen, before it runs. To prevent that, it says why
// and returns an exit code.
using WhyNotRun = std::optional<int> (*)(CommandContext& context);

// Returns the exit code for main(). Without `why_not_run`, commands always run.
int run_program(Command program, int argc, char** argv, WhyNotRun why_not_run = nullptr);

// Enters the caller's folder, since `bazel run` starts programs in a folder of its own, and
// relative paths mean the caller's. Reports on standard error if it could not enter it.
void enter_callers_folder();

}  // namespace recto::experiments
