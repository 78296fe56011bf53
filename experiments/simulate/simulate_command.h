#pragma once

#include "experiments/support/command.h"

namespace recto::experiments {

// `recto simulate`: one configuration, in depth.
Command simulate_command();

}  // namespace recto::experiments
