#pragma once

#include "experiments/support/command.h"

namespace recto::experiments {

// `recto fragmentation`: allocators x block sizes on one workload.
Command fragmentation_command();

}  // namespace recto::experiments
