#pragma once

#include <CLI/CLI.hpp>

#include "experiments/support/command.h"

namespace recto::experiments {

// `recto completion`: scripts that complete all commands of `app`, which has to outlive the run.
void add_completion_command(CLI::App& app, CommandContext& context);

}  // namespace recto::experiments
