#pragma once

#include <CLI/CLI.hpp>

#include "experiments/support/command.h"

namespace recto::experiments {

// `recto man`: the manual page of all commands of `app`, which has to outlive the run.
void add_man_command(CLI::App& app, CommandContext& context);

}  // namespace recto::experiments
