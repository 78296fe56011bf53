#pragma once

#include <CLI/CLI.hpp>

#include "experiments/support/command.h"

namespace recto::experiments {

// `recto replay`: one saved case on any backend, explained.
void add_replay_command(CLI::App& app, CommandContext& context);

}  // namespace recto::experiments
