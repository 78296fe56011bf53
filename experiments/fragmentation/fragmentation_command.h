#pragma once

#include <CLI/CLI.hpp>

#include "experiments/support/command.h"

namespace recto::experiments {

// `recto fragmentation`: allocators x block sizes on one workload.
void add_fragmentation_command(CLI::App& app, CommandContext& context);

}  // namespace recto::experiments
