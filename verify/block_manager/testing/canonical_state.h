#pragma once

// A state as text in which blocks and sequences have no names: two states have the same text if
// renaming makes them equal. The text contains everything that an answer may depend on. It leaves
// out what only counts past events (statistics, generations).

#include <string>

#include "verify/block_manager/testing/lockstep.h"

namespace recto::verify {

// O(sequences! * size of the state): for two or three sequences.
std::string canonical_state(const Lockstep& lockstep);

}  // namespace recto::verify
