#pragma once

#include <string>

#include "experiments/support/command_outline.h"

namespace recto::experiments {

// The manual page, section 1, in the macros of man(7). `version` is printed at its foot.
std::string man_page(const CommandOutline& program, const std::string& version);

}  // namespace recto::experiments
