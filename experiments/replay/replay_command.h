#pragma once

#include "experiments/support/command.h"

namespace recto::experiments {

// `recto replay`: one saved case on any backend, explained.
Command replay_command();

}  // namespace recto::experiments
