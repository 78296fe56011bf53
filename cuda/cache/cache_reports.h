#pragma once

// What a manager reports of itself, at any time: its slots by state, in O(groups), counts of what
// its prefix cache did, and its memory.
//
//   const PoolStates states = manager.states();
//   const TokenCount idle = states.cached + states.free;  // could be had
//   const bool is_half_empty = states.used + states.used < states.sum();
//   const CacheStatistics& counts = manager.statistics();  // of now, whenever it is read
//   const std::int64_t computed = counts.query_tokens - counts.hit_tokens;
//   const CacheMemory memory = manager.memory();
//   const std::int64_t bytes_each = memory.block_bytes / manager.options().num_blocks.value();

#include <cstdint>

#include "core/units.h"

namespace recto::cache {

// How many slots of a pool are in each state. A slot that several tables share counts once, and is
// used if any holder uses it. used + held_empty + cached + free + overhead add up to the pool.
struct PoolStates {
  TokenCount used{};        // hold a token that a later row of some holder will see
  TokenCount held_empty{};  // held, but not (yet, any more) used: reserved or internal
  TokenCount cached{};      // nobody's, with content that can be found
  TokenCount pinned{};      // the part of cached that cannot be evicted
  TokenCount free{};        // nobody's, without content
  TokenCount overhead{};    // null blocks

  TokenCount sum() const { return used + held_empty + cached + free + overhead; }
  friend bool operator==(const PoolStates&, const PoolStates&) = default;
};

// The part that one layer group holds or has cached, in slots.
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
  std::int64_t query_tokens = 0;       // of these prompts
  std::int64_t hit_tokens = 0;         // of these, found
  std::int64_t stored = 0;             // blocks that became findable, in all groups
  std::int64_t evicted = 0;            // of these, forgotten to make room for others
  std::int64_t evicted_for_nodes = 0;  // of these, because the index was full, not the pool
  std::int64_t overwritten = 0;        // forgotten because their only holder was to write into them
  std::int64_t cleared = 0;            // forgotten by a reset
  std::int64_t duplicates = 0;  // computed though another block with that content was findable
  std::int64_t collisions = 0;  // equal hashes of different content: each a miss
  std::int64_t no_node = 0;     // times that commit stopped: the index was full of what is in use
  std::int64_t too_many_items = 0;  // times that it stopped at a block with too many items

  friend bool operator==(const CacheStatistics&, const CacheStatistics&) = default;
};

// In bytes: all that a manager allocates when it is created, except a fixed few hundred bytes and
// some for each layer group.
struct CacheMemory {
  std::int64_t block_bytes = 0;     // of the device's blocks: who holds them, and what is in them
  std::int64_t token_bytes = 0;     // the tokens of what is cached, and its extra words
  std::int64_t host_bytes = 0;      // of the host's blocks, and lists of copies
  std::int64_t sequence_bytes = 0;  // of sequences, their tables, transfers and pins

  std::int64_t sum() const { return block_bytes + token_bytes + host_bytes + sequence_bytes; }
};

}  // namespace recto::cache
