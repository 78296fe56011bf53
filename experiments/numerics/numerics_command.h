#pragma once

#include <CLI/CLI.hpp>

#include "experiments/support/command.h"

namespace recto::experiments {

// `recto numerics`: how sharp the error bounds are, and how small a fault they still see.
void add_numerics_command(CLI::App& app, CommandContext& context);

}  // namespace recto::experiments
