#pragma once

#include <CLI/CLI.hpp>

#include "experiments/support/command.h"

namespace recto::experiments {

// `recto report DIR`: results as one HTML page.
void add_report_command(CLI::App& app, CommandContext& context);

}  // namespace recto::experiments
