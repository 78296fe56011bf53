#pragma once

// What all subcommands share. Each has, in experiments/NAME/NAME_command.h, one function
//
//   void add_NAME_command(CLI::App& app, CommandContext& context);
//
// which adds its subcommand to `app`, with a callback that sets `context.chosen`. The command runs
// after the whole command line has been parsed; its status becomes the exit code.

#include <functional>
#include <ostream>
#include <string>

#include "core/status.h"
#include "experiments/support/terminal.h"

namespace recto::experiments {

struct CommandContext {
  std::ostream& out;  // results
  std::ostream& err;  // progress and remarks; errors are printed by main()
  Terminal terminal;
  std::function<Status()> chosen;  // set by the subcommand that the command line names
  std::string program = "recto";   // the name by which printed text calls it
};

// 0 done, 1 the run failed, 2 bad usage or bad input.
int exit_code(const Status& status);

}  // namespace recto::experiments
