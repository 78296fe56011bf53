#pragma once

// The text of a sequence, with memory of its own, and what of it a block's K and V depend on beside
// the blocks before: no hashes, the thing itself.

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

// Items in ascending order, apart, at least a token long, none before the first token.
bool has_proper_items(const CacheText& text);

// One block's worth: its tokens, the keys if it is the first and has any, and (content hash, start
// relative to the block, length) of each item that lies on it.
struct BlockText {
  std::vector<cache::TokenId> tokens = {};
  std::vector<std::uint64_t> words = {};
  std::int32_t num_items = 0;

  friend auto operator<=>(const BlockText&, const BlockText&) = default;
};

// Tokens [index * block_size, (index + 1) * block_size), which the text has.
BlockText block_text(const CacheText& text, std::int64_t block_size, std::int64_t index);

// A block's worth behind those before it, first to last: full texts, each named by a number.
using TextChain = std::vector<std::int32_t>;

// Equal texts have equal numbers, for good.
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
