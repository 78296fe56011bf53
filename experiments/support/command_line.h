#pragma once

// From the words of a command line to the command that they ask for.

#include <string>
#include <vector>

#include "core/status.h"
#include "experiments/support/command.h"

namespace recto::experiments {

struct ParsedLine {
  const Command* command = nullptr;     // to be run; null if a text is asked for instead
  std::string text = {};                // help or version
  std::vector<std::string> given = {};  // for CommandContext
};

// Stores the values of options. `words` begin after the program's name. Invalid input says in one
// line which option is wrong, what was found and what was expected.
Result<ParsedLine> parse_command_line(const Command& program, std::vector<std::string> words);

}  // namespace recto::experiments
