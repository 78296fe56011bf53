#pragma once

// Counts of what a prefix cache did since its manager was created. A refused operation counts
// nothing.
//
//   const CacheStatistics& counts = manager.statistics();  // of now, whenever it is read
//   const std::int64_t computed = counts.query_tokens - counts.hit_tokens;

#include <cstdint>

namespace recto::cache {

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

}  // namespace recto::cache
