#pragma once

// Addresses of instructions as source lines.

#include <string>

#include "verify/simt/executor/finding.h"

namespace recto::simt {

// "cuda/kernels/a.cuh:17"; for an instruction address, of the innermost inlined function, as far as
// addr2line (of binutils) and debug information tell, else "module+0x1234". Empty if nothing is
// known. Starts a process for each address it has not seen before: not for use on a fiber.
std::string place_text(const CodePlace& place);

}  // namespace recto::simt
