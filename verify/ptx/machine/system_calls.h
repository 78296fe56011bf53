#pragma once

// Functions that the GPU's own system has: vprintf and __assertfail.

#include "verify/ptx/machine/block_memory.h"
#include "verify/ptx/machine/warp.h"

namespace recto::ptx {

void print(BlockMemory& memory, const WarpStep& at, const Detail& detail);
void fail_assertion(BlockMemory& memory, const WarpStep& at, const Detail& detail);

}  // namespace recto::ptx
