#pragma once

// The whole state of a manager as text, for tests that compare before and after.

#include <string>

#include "cuda/cache/block_manager.h"

namespace recto::cache::testing {

// Lists in their order, tables, lengths, nodes, pins, transfers, counters; not the scratch memory.
// Two managers with equal texts answer every call alike. O(state).
std::string state_text(const BlockManager& manager);

}  // namespace recto::cache::testing
