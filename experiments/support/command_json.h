#pragma once

// Commands of another program, as that program describes them: enough for the help, completion
// scripts and the manual page. What their options do is known to that program alone.

#include <vector>

#include "core/json.h"
#include "experiments/support/command.h"

namespace recto::experiments {

Json commands_json(const std::vector<Command>& commands);

// Reads what commands_json() wrote. `program`: the name of the program that runs them.
std::vector<Command> commands_of(const Json& json, const std::string& program);

}  // namespace recto::experiments
