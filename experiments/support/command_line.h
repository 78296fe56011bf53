#pragma once

// Parses the words of a command line to the command to run.

#include <string>
#include <vector>

#include "core/status.h"
#include "experiments/support/command.h"

namespace recto::experiments {

struct ParsedLine {
  const Command* command = nullptr;     // to run; null if a text is requested instead
  std::string text = {};                // help or version
  std::vector<std::string> given = {};  // for CommandContext
};

// Stores the values of options. `words` begin after the program's name. Invalid input names, in one
// line, the wrong option, what was found and what was expected.
Result<ParsedLine> parse_command_line(const Command& program, std::vector<std::string> words);

}  // namespace recto::experiments
