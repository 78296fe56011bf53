#pragma once

// The text of a sequence, which owns its memory, and the part of it that determines a block's K and
// V besides the preceding blocks: the text itself, not a hash.

#include <compare>
#include <cstdint>
#include <ostream>
#include <vector>

#include "cuda/cache/prompt.h"

namespace recto::cache::testing {

struct CacheText {
  std::vector<TokenId> ids = {};
  std::vector<MultimodalItem> items = {};
  CacheKeys keys = {};

  std::int64_t length() const { return static_cast<std::int64_t>(ids.size()); }
  // Valid as long as this object exists and does not change.
  Prompt prompt() const { return {.tokens = {.ids = ids, .items = items}, .keys = keys}; }
};

bool operator==(const CacheText& a, const CacheText& b);
std::ostream& operator<<(std::ostream& out, const CacheText& text);

// Whether items are in ascending order, disjoint, and at least one token long, and none starts
// before the first token.
bool has_proper_items(const Tokens& tokens);

// Content hashes, LoRA ids and tenant salts of 64 bits. Of four in a row, beginning at a multiple
// of 4, neighbours share their low halves, and those two apart their high halves: a cut one is
// another's.
std::uint64_t wide_id(std::uint64_t index);

// One block's worth: its tokens, the keys if it is the first block and there are any, and (content
// hash, start relative to the block, length) of each item that overlaps it.
struct BlockText {
  std::vector<TokenId> tokens = {};
  std::vector<std::uint64_t> words = {};
  std::int32_t num_items = 0;

  friend auto operator<=>(const BlockText&, const BlockText&) = default;
};

// The block of tokens [index * block_size, (index + 1) * block_size), which the prompt must have.
BlockText block_text(const Prompt& prompt, std::int64_t block_size, std::int64_t index);

// The content of a slot: equal tags mean equal K and V. 0 means that nothing was written.
using SlotTag = std::uint64_t;

// The tag of a token whose predecessor has the tag `before` (0 for the first one). K and V depend
// on the token, its predecessors, the keys, the item that covers it, and the set of weights, which
// may be replaced.
SlotTag slot_tag(SlotTag before, const CacheText& text, std::int64_t position,
                 std::uint64_t weights);
// The tags of a text's first `length` tokens.
std::vector<SlotTag> slot_tags(const CacheText& text, std::int64_t length, std::uint64_t weights);

}  // namespace recto::cache::testing
