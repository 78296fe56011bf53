#pragma once

// What nvcc embeds into host code: a fat binary, with device code for one or more targets.

#include <string>
#include <vector>

#include "core/status.h"

namespace recto::cudart {

// The PTX modules of the fat binary to which nvcc's wrapper (the argument of
// __cudaRegisterFatBinary) points, in its order. Machine code is passed over. Invalid input: it is
// no fat binary, or its PTX is compressed.
Result<std::vector<std::string>> ptx_of(const void* wrapper);

}  // namespace recto::cudart
