#pragma once

// Turns a kernel of a module into steps. Functions that it calls become part of it.

#include "core/status.h"
#include "verify/ptx/program/draft.h"
#include "verify/ptx/program/variables.h"

namespace recto::ptx {

// Invalid input: what cannot be run, by line and instruction. O(instructions).
Result<Draft> decode(const text::Module& module, const Symbols& symbols,
                     const text::Function& kernel);

}  // namespace recto::ptx
