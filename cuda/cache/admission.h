#pragma once

// How a sequence begins: what of its prompt is cached, and whether there is room for the rest.

#include <cstdint>
#include <optional>
#include <span>

#include "core/status.h"
#include "cuda/cache/cache_core.h"

namespace recto::cache {

// The longest prefix of a prompt that every group has what the next row sees of.
struct PrefixMatch {
  NodeId end = kRoot;  // its last node; those before are its ancestors
  std::int32_t blocks = 0;
  std::int64_t collisions = 0;
};

// Of the prompt's first `max_blocks` blocks; its tokens pass check_tokens. O(blocks * groups) and
// hashing them, up to the first miss.
PrefixMatch match_prefix(const CacheCore& core, const Prompt& prompt, std::int64_t max_blocks);

// As BlockManager::hash_prompt.
Result<std::int64_t> hash_prompt(const CacheCore& core, const Prompt& prompt,
                                 std::span<BlockHash> hashes);

// The tokens of it that an admission would find; 0 of a prompt that can't be.
TokenCount cached_prefix(const CacheCore& core, const Prompt& prompt);

// What admitting a prompt takes.
struct AdmissionPlan {
  PrefixMatch match;
  std::int64_t blocks = 0;   // logical blocks of the table
  std::int64_t fresh = 0;    // blocks of the pool, without content
  std::int64_t revived = 0;  // found ones that could have been evicted
};

// Invalid input for a prompt or room that can't be.
Result<AdmissionPlan> plan_admission(const CacheCore& core, const Prompt& prompt,
                                     std::optional<TokenCount> room);

// Whether the pool has enough for it; and the same with a message.
bool has_room(const CacheCore& core, const AdmissionPlan& plan);
Status check_room(const CacheCore& core, const AdmissionPlan& plan);

// A running sequence that holds nothing gets what was planned, and nothing happened in between.
void carry_out(CacheCore& core, std::int32_t sequence, const Prompt& prompt,
               const AdmissionPlan& plan);

}  // namespace recto::cache
