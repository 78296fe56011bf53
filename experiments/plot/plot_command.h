#pragma once

// recto plot: pictures of what other commands wrote.

#include "experiments/support/command.h"

namespace recto::experiments {

Command plot_command();

}  // namespace recto::experiments
