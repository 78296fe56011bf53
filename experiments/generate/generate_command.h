#pragma once

#include "experiments/support/command.h"

namespace recto::experiments {

// `recto generate`: a small model that generates through scheduler, block manager and kernels.
Command generate_command();

}  // namespace recto::experiments
