#pragma once

#include <CLI/CLI.hpp>

#include "experiments/support/command.h"

namespace recto::experiments {

// `recto plan`: how far the KV cache of a model goes on a card.
void add_plan_command(CLI::App& app, CommandContext& context);

}  // namespace recto::experiments
