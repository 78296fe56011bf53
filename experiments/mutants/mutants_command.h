#pragma once

#include <CLI/CLI.hpp>

#include "experiments/support/command.h"

namespace recto::experiments {

// `recto mutants`: how many planted faults the checks of recto kill, and which.
void add_mutants_command(CLI::App& app, CommandContext& context);

}  // namespace recto::experiments
