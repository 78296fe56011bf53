#pragma once

// Translates instruction addresses to source lines.

#include <string>

#include "verify/simt/executor/finding.h"

namespace recto::simt {

// "cuda/kernels/a.cuh:17"; for an instruction address, the place in the innermost inlined function
// if addr2line (of binutils) and debug information know it, else "module+0x1234". Empty if nothing
// is known. Starts a process for each new address, so it must not be used on a fiber.
std::string place_text(const CodePlace& place);

}  // namespace recto::simt
