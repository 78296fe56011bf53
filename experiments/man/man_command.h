#pragma once

#include "experiments/support/command.h"

namespace recto::experiments {

// `recto man`: the manual page of all commands of the program.
Command man_command();

}  // namespace recto::experiments
