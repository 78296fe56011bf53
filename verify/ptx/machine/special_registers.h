#pragma once

#include "verify/ptx/machine/block_memory.h"
#include "verify/ptx/machine/warp.h"

namespace recto::ptx {

// Fills rows of the warp that differ between launches, thread blocks or warps.
void fill_special_registers(const BlockMemory& memory, const Warp& warp);

}  // namespace recto::ptx
