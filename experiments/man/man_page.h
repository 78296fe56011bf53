#pragma once

#include <string>

#include "experiments/support/command.h"

namespace recto::experiments {

struct ManPageFoot {
  std::string version;
  std::string day;  // "2026-11-23"; empty where none is known
};

// The manual page, section 1, in the macros of man(7).
std::string man_page(const Command& program, const ManPageFoot& foot);

}  // namespace recto::experiments
