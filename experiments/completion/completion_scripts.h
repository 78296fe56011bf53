#pragma once

// Scripts that make a shell complete commands, flags, names and files; by nothing but the shell
// itself: the program is not called while somebody types.

#include <string>

#include "experiments/support/command_outline.h"

namespace recto::experiments {

// Of bash 4.4 and later, with or without the package bash-completion.
std::string bash_completion(const CommandOutline& program);

std::string zsh_completion(const CommandOutline& program);

// Of fish 3 and later.
std::string fish_completion(const CommandOutline& program);

}  // namespace recto::experiments
