#pragma once

// How a sequence begins: how much of its prompt is cached, and whether there is room for the rest.

#include <cstdint>
#include <optional>
#include <span>

#include "core/status.h"
#include "cuda/cache/cache_core.h"

namespace recto::cache {

// The longest prefix of a prompt for which every group has the blocks that the next row sees.
struct PrefixMatch {
  NodeId end = kRoot;  // its last node; those before are its ancestors
  std::int32_t blocks = 0;
  std::int64_t collisions = 0;
};

// Looks only at the prompt's first `max_blocks` blocks; its tokens must pass check_tokens. O(blocks
// * groups), plus hashing them, up to the first miss.
PrefixMatch match_prefix(const CacheCore& core, const Prompt& prompt, std::int64_t max_blocks);

// As BlockManager::hash_prompt.
Result<std::int64_t> hash_prompt(const CacheCore& core, const Prompt& prompt,
                                 std::span<BlockHash> hashes);

// The number of tokens that an admission would find cached; 0 for an invalid prompt.
TokenCount cached_prefix(const CacheCore& core, const Prompt& prompt);

// What admitting a prompt takes.
struct AdmissionPlan {
  PrefixMatch match;
  std::int64_t blocks = 0;   // logical blocks of the table
  std::int64_t fresh = 0;    // blocks of the pool, without content
  std::int64_t revived = 0;  // cached blocks of the match that are evictable now
};

// Invalid input for an invalid prompt or `room`.
Result<AdmissionPlan> plan_admission(const CacheCore& core, const Prompt& prompt,
                                     std::optional<TokenCount> room);

// Whether the pool has enough blocks for the plan; check_room says the same with a message.
bool has_room(const CacheCore& core, const AdmissionPlan& plan);
Status check_room(const CacheCore& core, const AdmissionPlan& plan);

// Gives a running sequence that holds nothing what was planned. Nothing may have happened since the
// plan was made.
void carry_out(CacheCore& core, std::int32_t sequence, const Prompt& prompt,
               const AdmissionPlan& plan);

}  // namespace recto::cache
