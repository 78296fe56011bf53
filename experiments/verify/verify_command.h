#pragma once

#include "experiments/support/command.h"

namespace recto::experiments {

// `recto verify`: laws and the oracle on backends of the list, or on a user's kernel library.
Command verify_command();

}  // namespace recto::experiments
