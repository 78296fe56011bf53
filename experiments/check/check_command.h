#pragma once

#include <CLI/CLI.hpp>

#include "experiments/support/command.h"

namespace recto::experiments {

// `recto check`: judges a program's answers to the cases of `recto cases`.
void add_check_command(CLI::App& app, CommandContext& context);

}  // namespace recto::experiments
