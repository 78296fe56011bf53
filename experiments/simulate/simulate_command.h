#pragma once

#include <CLI/CLI.hpp>

#include "experiments/support/command.h"

namespace recto::experiments {

// `recto simulate`: one configuration, in depth.
void add_simulate_command(CLI::App& app, CommandContext& context);

}  // namespace recto::experiments
