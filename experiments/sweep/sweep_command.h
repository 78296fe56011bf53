#pragma once

#include <CLI/CLI.hpp>

#include "experiments/support/command.h"

namespace recto::experiments {

// `recto sweep`: a grid of runs, on all cores, resumable.
void add_sweep_command(CLI::App& app, CommandContext& context);

}  // namespace recto::experiments
