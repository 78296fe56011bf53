#pragma once

#include <CLI/CLI.hpp>

#include "experiments/support/command.h"

namespace recto::experiments {

// `recto verify`: laws and the oracle on backends of the list, or on a user's kernel library.
void add_verify_command(CLI::App& app, CommandContext& context);

}  // namespace recto::experiments
