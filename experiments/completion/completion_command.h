#pragma once

#include "experiments/support/command.h"

namespace recto::experiments {

// `recto completion`: scripts that complete all commands of the program.
Command completion_command();

}  // namespace recto::experiments
