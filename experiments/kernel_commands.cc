#include "experiments/kernel_commands.h"

#include "core/json.h"
#include "experiments/support/command.h"

namespace recto::experiments {

std::vector<Command> kernel_commands() {
  return commands_of(parse_json(kKernelCommandsJson).value(), "recto_kernels");
}

}  // namespace recto::experiments
