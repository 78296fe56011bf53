#pragma once

// What the prefix index is told of each block of a prompt: its tokens, and the extra words that
// decide with them whether two blocks are the same.

#include <array>
#include <cstdint>

#include "core/status.h"
#include "cuda/cache/block_hash.h"
#include "cuda/cache/cache_options.h"
#include "cuda/cache/prefix_index.h"
#include "cuda/cache/prompt.h"

namespace recto::cache {

// Invalid input if items have no length, are not in ascending order, or overlap. O(items).
Status check_tokens(const Tokens& tokens);

// Words of a first block, and of an item.
inline constexpr std::int32_t kKeyWords = 2;
inline constexpr std::int32_t kItemWords = 3;

static_assert(kMaxExtraWords >= kKeyWords + kItemWords * kMaxItemsPerBlock);

// Tokens that pass check_tokens, in blocks. A first block's words are its keys, unless both are 0;
// then come, in any block, for each item that lies on it the item's hash, where it starts, seen
// from the block, and its length.
class ContentReader {
 public:
  ContentReader(const Tokens& tokens, const CacheKeys& keys, std::int32_t max_items)
      : tokens_(tokens), keys_(keys), max_items_(max_items) {}

  // Looks at block `block` of `block_size` tokens, all of which are there; false if more than
  // `max_items` lie on it. O(log items).
  bool read(std::int64_t block, std::int64_t block_size);
  // What was read last, until the next call.
  const BlockContent& content() const { return content_; }

 private:
  Tokens tokens_;
  CacheKeys keys_;
  std::int32_t max_items_;
  BlockContent content_;
  std::array<std::uint64_t, kMaxExtraWords> words_;
};

}  // namespace recto::cache
