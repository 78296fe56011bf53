#pragma once

#include <CLI/CLI.hpp>

#include "experiments/support/command.h"

namespace recto::experiments {

// `recto trace`: what is in a trace.
void add_trace_command(CLI::App& app, CommandContext& context);

}  // namespace recto::experiments
