#include "experiments/support/tried_command.h"

#include <algorithm>
#include <sstream>

#include "experiments/support/usage_error.h"

namespace recto::testing {

using experiments::CommandContext;

TriedCommand try_command(AddCommand add, std::vector<std::string> arguments) {
  CLI::App app;
  app.require_subcommand(1);
  std::ostringstream out;
  std::ostringstream err;
  CommandContext context{out, err, experiments::Terminal(), nullptr};
  add(app, context);
  Status status;
  std::reverse(arguments.begin(), arguments.end());  // as CLI11 takes them
  try {
    app.parse(arguments);
    status = context.chosen();
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return {app.exit(error, out, err), out.str(), err.str()};
    status = experiments::usage_error(app, error);
  }
  if (!status.is_ok()) err << status.message() << '\n';
  return {experiments::exit_code(status), out.str(), err.str()};
}

}  // namespace recto::testing
