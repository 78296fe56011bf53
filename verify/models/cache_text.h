#pragma once

// The text of a sequence, which owns its memory, and the part of it that a block's K and V depend
// on besides the blocks before: the text itself, not a hash.

#include <compare>
#include <cstdint>
#include <map>
#include <ostream>
#include <vector>

#include "cuda/cache/prompt.h"

namespace recto::verify {

struct CacheText {
  std::vector<cache::TokenId> ids = {};
  std::vector<cache::MultimodalItem> items = {};
  cache::CacheKeys keys = {};

  std::int64_t length() const { return static_cast<std::int64_t>(ids.size()); }
  // Valid while this lives and does not change.
  cache::Prompt prompt() const { return {.tokens = {.ids = ids, .items = items}, .keys = keys}; }
};

bool operator==(const CacheText& a, const CacheText& b);
std::ostream& operator<<(std::ostream& out, const CacheText& text);

// Whether items are in ascending order, disjoint, at least a token long, and none starts before the
// first token.
bool has_proper_items(const CacheText& text);

// One block's worth: its tokens, the keys if it is the first block and there are any, and (content
// hash, start relative to the block, length) of each item that overlaps it.
struct BlockText {
  std::vector<cache::TokenId> tokens = {};
  std::vector<std::uint64_t> words = {};
  std::int32_t num_items = 0;

  friend auto operator<=>(const BlockText&, const BlockText&) = default;
};

// The block of tokens [index * block_size, (index + 1) * block_size), which the text must have.
BlockText block_text(const CacheText& text, std::int64_t block_size, std::int64_t index);

// A block's text after those of the blocks before it, first to last: each a full block's, named by
// its number.
using TextChain = std::vector<std::int32_t>;

// Numbers texts: equal texts have equal numbers, which never change.
class BlockTexts {
 public:
  std::int32_t number(const BlockText& text);
  const BlockText& text(std::int32_t number) const;
  // Whether any of them had words.
  bool met_words() const { return met_words_; }

 private:
  std::map<BlockText, std::int32_t> numbers_;
  std::vector<const BlockText*> texts_;  // keys of `numbers_`
  bool met_words_ = false;
};

}  // namespace recto::verify
