#pragma once

// Scripts with which a shell completes commands, flags, names and files by itself: the program is
// not called while the user types.

#include <string>

#include "experiments/support/command.h"

namespace recto::experiments {

// For bash 4.4 and later, with or without the package bash-completion.
std::string bash_completion(const Command& program);

std::string zsh_completion(const Command& program);

// For fish 3 and later.
std::string fish_completion(const Command& program);

}  // namespace recto::experiments
