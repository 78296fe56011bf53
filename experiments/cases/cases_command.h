#pragma once

#include <CLI/CLI.hpp>

#include "experiments/support/command.h"

namespace recto::experiments {

// `recto cases`: adversarial cases in files, for programs in any language.
void add_cases_command(CLI::App& app, CommandContext& context);

}  // namespace recto::experiments
