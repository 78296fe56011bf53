#pragma once

// Runs a subcommand inside a test, as the program would.

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "experiments/support/command.h"

namespace recto::testing {

struct TriedCommand {
  int exit_code = 0;
  std::string out;
  std::string err;  // progress, remarks, and the message of a failure
};

using AddCommand = void (*)(CLI::App& app, experiments::CommandContext& context);

// `arguments` begin with the subcommand's name. The terminal is plain: ASCII, no colour.
TriedCommand try_command(AddCommand add, std::vector<std::string> arguments);

}  // namespace recto::testing
