#pragma once

// What must hold between any two operations, recomputed from scratch: slow, and for tests.

#include "core/status.h"
#include "cuda/cache/block_manager.h"

namespace recto::cache {

// Failed, naming the first thing that does not hold:
//   - references of a block are its table entries; a block is held if and only if there are any
//   - each block is in exactly one list, and lists are as long as their counters
//   - the tables of a sequence have blocks where its tokens are, and its group's alone
//   - the hash table, nodes and blocks point at each other; users and pins are what uses and pins
//   - cached blocks are full; who may write next holds its block alone
//   - counters of states, of the pool and of groups, are what a walk over all slots counts; they
//     sum to the pool
// O(sequences * blocks * groups + nodes).
Status check_invariants(const BlockManager& manager);

}  // namespace recto::cache
