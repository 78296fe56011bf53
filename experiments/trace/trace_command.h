#pragma once

#include "experiments/support/command.h"

namespace recto::experiments {

// `recto trace`: what is in a trace.
Command trace_command();

}  // namespace recto::experiments
