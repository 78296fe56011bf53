#pragma once

// A program of subcommands, from its command line to its exit code.

#include <CLI/CLI.hpp>
#include <optional>

#include "experiments/support/command.h"

namespace recto::experiments {

struct Program {
  const char* name;
  const char* about;
  const char* footer;
  void (*add_commands)(CLI::App& app, CommandContext& context);
  // Called with the command that the line names, before it runs. To prevent that, it says why and
  // returns an exit code. Null: always run.
  std::optional<int> (*why_not_run)(const CLI::App& command, CommandContext& context) = nullptr;
};

// Returns the exit code for main().
int run_program(const Program& program, int argc, char** argv);

}  // namespace recto::experiments
