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
  // Asked of the command that the line names, before it runs: an exit code in place of running it,
  // once it has said why. Null: always run.
  std::optional<int> (*why_not_run)(const CLI::App& command, CommandContext& context) = nullptr;
};

// To be returned by main().
int run_program(const Program& program, int argc, char** argv);

}  // namespace recto::experiments
