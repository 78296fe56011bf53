#pragma once

// Parses PTX, ISA versions 6.0 to 9.x, with 64-bit addresses.

#include <string_view>

#include "core/status.h"
#include "verify/ptx/text/syntax_tree.h"

namespace recto::ptx::text {

// Invalid input: whatever is not PTX that can be run; the message begins with "line N". O(text).
Result<Module> parse(std::string_view text);

}  // namespace recto::ptx::text
