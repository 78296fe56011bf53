#pragma once

// Runs a program of commands, from its command line to its exit code.

#include <optional>

#include "experiments/support/command.h"

namespace recto::experiments {

// Called before the chosen command runs. To prevent the run, it prints why and returns an exit
// code.
using WhyNotRun = std::optional<int> (*)(CommandContext& context);

// Returns the exit code for main(). Without `why_not_run`, commands always run.
int run_program(Command program, int argc, char** argv, WhyNotRun why_not_run = nullptr);

// Enters the caller's folder, because `bazel run` starts programs in another folder, and relative
// paths refer to the caller's. Reports on standard error if it could not enter it.
void enter_callers_folder();

}  // namespace recto::experiments
