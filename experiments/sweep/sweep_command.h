#pragma once

#include "experiments/support/command.h"

namespace recto::experiments {

// `recto sweep`: a grid of runs, on all cores, resumable.
Command sweep_command();

}  // namespace recto::experiments
