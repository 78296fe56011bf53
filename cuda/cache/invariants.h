#pragma once

// What must hold between any two operations, recomputed from scratch: slow, and for tests.

#include "core/status.h"
#include "cuda/cache/block_manager.h"

namespace recto::cache {

// Failed, naming the first thing that does not hold, in each pool:
//   - references of a block are its table entries; a block is held if and only if there are any
//   - each block is in exactly one list or state, and lists are as long as their counters
//   - tables have blocks where rows see tokens, and a block stands in one group, at one index
//   - counters of states, of the pool and of groups, are what a walk over all slots counts; they
//     sum to the pool
// and of the prefix index and the sequences:
//   - hash table, nodes and blocks point at each other; users and pins are what uses and pins
//   - a block that can be found is not where anybody may write next without being asked
//   - who may write next, without looking, holds its block alone
//   - lengths fit the state; who is on the move is in one transfer
// O(sequences * blocks * groups * block_size + nodes).
Status check_invariants(const BlockManager& manager);

}  // namespace recto::cache
