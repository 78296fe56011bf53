#pragma once

#include <CLI/CLI.hpp>

#include "experiments/support/command.h"

namespace recto::experiments {

// `recto generate`: a small model that generates through scheduler, block manager and kernels.
void add_generate_command(CLI::App& app, CommandContext& context);

}  // namespace recto::experiments
