#pragma once

#include "experiments/support/command.h"

namespace recto::experiments {

// `recto mutants`: how many planted faults the checks of recto kill, and which.
Command mutants_command();

}  // namespace recto::experiments
