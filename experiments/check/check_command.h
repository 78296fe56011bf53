#pragma once

#include "experiments/support/command.h"

namespace recto::experiments {

// `recto check`: judges a program's answers to the cases of `recto cases`.
Command check_command();

}  // namespace recto::experiments
