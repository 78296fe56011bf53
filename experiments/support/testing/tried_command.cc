#include "experiments/support/testing/tried_command.h"

#include <sstream>
#include <utility>

#include "experiments/support/command_line.h"

namespace recto::testing {

using experiments::Command;
using experiments::CommandContext;
using experiments::ParsedLine;

TriedCommand try_command(MakeCommand make, std::vector<std::string> words) {
  Command program("recto", "");
  program.commands.push_back(make());
  std::ostringstream out;
  std::ostringstream err;
  const Result<ParsedLine> line = experiments::parse_command_line(program, std::move(words));
  Status status = line.status();
  if (line.is_ok() && line.value().command == nullptr) return {0, line.value().text, ""};
  if (line.is_ok()) {
    CommandContext context{out, err, experiments::Terminal(), program, line.value().given};
    status = line.value().command->run(context);
  }
  if (!status.is_ok()) err << status.message() << '\n';
  return {experiments::exit_code(status), out.str(), err.str()};
}

}  // namespace recto::testing
