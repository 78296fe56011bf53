#pragma once

#include "experiments/support/command.h"

namespace recto::experiments {

// `recto numerics`: how sharp the error bounds are, and how small a fault they still see.
Command numerics_command();

}  // namespace recto::experiments
