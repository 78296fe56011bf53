#pragma once

// Runs a subcommand inside a test, as the program does.

#include <string>
#include <vector>

#include "experiments/support/command.h"

namespace recto::testing {

struct TriedCommand {
  int exit_code = 0;
  std::string out;
  std::string err;  // progress, remarks, and the message of a failure
};

using MakeCommand = experiments::Command (*)();

// `words` begin with the subcommand's name. The terminal is plain: ASCII, no colour.
TriedCommand try_command(MakeCommand make, std::vector<std::string> words);

}  // namespace recto::testing
