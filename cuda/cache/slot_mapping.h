#pragma once

// The slots into which the K and V of a step's tokens must be written.
//
//   const std::vector<TokenRange> step = {{.sequence = sequence, .first = 6, .count = 1}};
//   std::vector<std::int64_t> slots(2);  // one token, and one of padding
//   status = write_slot_mapping(manager, 0, step, slots);  // {the slot of token 6, -1}

#include <cstdint>
#include <span>

#include "core/status.h"
#include "cuda/cache/block_manager.h"

namespace recto::cache {

// The entry of a slot mapping for a token that is not written.
inline constexpr std::int64_t kNoSlot = -1;

// Tokens [first, first + count) of a sequence.
struct TokenRange {
  SequenceHandle sequence = {};
  std::int64_t first = 0;
  std::int64_t count = 0;
};

// Writes the slots of these tokens in a group (block_id * block_size + offset), consecutively, to
// `slots`, and kNoSlot to the rest. Invalid input, with nothing written, if a sequence is not
// running, a token has no slot or is in a shared block, or `slots` is too short. O(tokens).
Status write_slot_mapping(const BlockManager& manager, std::int32_t group,
                          std::span<const TokenRange> tokens, std::span<std::int64_t> slots);

}  // namespace recto::cache
