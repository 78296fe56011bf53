#pragma once

// Moves between registers that each have one value need no steps.

#include "verify/ptx/program/draft.h"

namespace recto::ptx {

// Compilers write a quarter of their instructions as moves, most of them of constants. Uses of a
// copy become uses of what it is a copy of; steps keep count of the copies before them.
// O(steps), beside the liveness of values.
void remove_copies(Draft& draft);

}  // namespace recto::ptx
