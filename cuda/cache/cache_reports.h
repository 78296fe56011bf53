#pragma once

// Reports of a manager: slots by state, in O(groups); counts of prefix-cache events; memory.
//
//   const PoolStates states = manager.states();
//   const TokenCount idle = states.cached + states.free;  // available
//   const bool is_half_empty = states.used + states.used < states.sum();
//   const CacheStatistics& counts = manager.statistics();  // always up to date
//   const std::int64_t computed = counts.query_tokens - counts.hit_tokens;
//   const CacheMemory memory = manager.memory();
//   const std::int64_t bytes_each = memory.block_bytes / manager.options().num_blocks.value();

#include <cstdint>

#include "core/units.h"

namespace recto::cache {

// How many slots of a pool are in each state. A slot that several tables share counts once, and is
// used if any holder uses it. used + held_empty + cached + free + overhead add up to the pool.
struct PoolStates {
  TokenCount used{};        // hold a token that a later row of a holder will see
  TokenCount held_empty{};  // held but not used, not yet or no longer: reserved or internal
  TokenCount cached{};      // without a holder, with content that can be found
  TokenCount pinned{};      // cached slots that cannot be evicted
  TokenCount free{};        // without a holder or content
  TokenCount overhead{};    // null blocks

  TokenCount sum() const { return used + held_empty + cached + free + overhead; }
  friend bool operator==(const PoolStates&, const PoolStates&) = default;
};

// The slots that one layer group holds or has cached.
struct GroupStates {
  TokenCount used{};
  TokenCount held_empty{};
  TokenCount cached{};
  TokenCount pinned{};

  friend bool operator==(const GroupStates&, const GroupStates&) = default;
};

// Counts since the manager was created. A refused operation counts nothing.
struct CacheStatistics {
  std::int64_t queries = 0;            // prompts looked up by admit and resume
  std::int64_t query_tokens = 0;       // tokens of these prompts
  std::int64_t hit_tokens = 0;         // tokens found cached
  std::int64_t stored = 0;             // blocks that became findable, in all groups
  std::int64_t evicted = 0;            // stored blocks that were forgotten to make room
  std::int64_t evicted_for_nodes = 0;  // evictions because the index was full, not the pool
  std::int64_t overwritten = 0;        // forgotten before their only holder wrote to them
  std::int64_t cleared = 0;            // forgotten by a reset
  std::int64_t duplicates = 0;  // computed although another block with equal content was findable
  std::int64_t collisions = 0;  // equal hashes of different content: each a miss
  std::int64_t no_node = 0;     // times that commit stopped: all nodes were in use
  std::int64_t too_many_items = 0;  // times that commit stopped at a block with too many items

  friend bool operator==(const CacheStatistics&, const CacheStatistics&) = default;
};

// In bytes: all memory that a manager allocates when it is created, except a fixed few hundred
// bytes and some for each layer group.
struct CacheMemory {
  std::int64_t block_bytes = 0;     // of the device's blocks: holders and content
  std::int64_t token_bytes = 0;     // tokens of cached content, and its extra words
  std::int64_t host_bytes = 0;      // of the host's blocks, and of lists of copies
  std::int64_t sequence_bytes = 0;  // of sequences, their tables, transfers and pins

  std::int64_t sum() const { return block_bytes + token_bytes + host_bytes + sequence_bytes; }
};

}  // namespace recto::cache
