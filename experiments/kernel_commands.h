#pragma once

#include <vector>

#include "experiments/support/command.h"

namespace recto::experiments {

// The commands that judge kernels, which recto_kernels runs, as kernel_commands.json has them.
std::vector<Command> kernel_commands();

// The text of that file, made by a rule.
extern const char* const kKernelCommandsJson;

}  // namespace recto::experiments
