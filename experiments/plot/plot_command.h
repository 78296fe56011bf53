#pragma once

// recto plot: pictures of what other commands wrote.

#include <CLI/CLI.hpp>

#include "experiments/support/command.h"

namespace recto::experiments {

void add_plot_command(CLI::App& app, CommandContext& context);

}  // namespace recto::experiments
