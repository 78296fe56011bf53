#pragma once

// Recomputes from scratch what must hold between any two operations: slow, for tests.

#include "core/status.h"
#include "cuda/cache/block_manager.h"

namespace recto::cache::testing {

// Failed, naming the first violated invariant. For each pool:
//   - a block has as many references as table entries, and is held if and only if it has any
//   - each block is in exactly one list or state, and lists are as long as their counters say
//   - tables have blocks wherever rows see tokens, and a block is in one group, at one index
//   - the counters of states, of the pool and of groups, are what a walk over all slots counts, and
//     add up to the pool
// For the prefix index and the sequences:
//   - hash table, nodes and blocks refer to each other; users and pins are counted correctly
//   - a findable block is never one that a sequence can write to without a check
//   - a sequence that can write without a check is the only holder of the block
//   - lengths fit the state; a sequence that is being swapped is in one transfer
// O(sequences * blocks * groups * block_size + nodes).
Status check_invariants(const BlockManager& manager);

}  // namespace recto::cache::testing
