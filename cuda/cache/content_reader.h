#pragma once

// What the prefix index is given for each block of a prompt: its tokens, and the extra words that,
// together with the tokens, decide whether two blocks are the same.

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

// The extra words that the keys take in a first block, and that an item takes.
inline constexpr std::int32_t kKeyWords = 2;
inline constexpr std::int32_t kItemWords = 3;

static_assert(kMaxExtraWords >= kKeyWords + kItemWords * kMaxItemsPerBlock);

// Reads tokens that pass check_tokens, block by block. The extra words of a first block begin with
// the keys, unless both are 0. In any block there follow, for each item that overlaps it, the
// item's hash, its start relative to the block, and its length.
class ContentReader {
 public:
  ContentReader(const Tokens& tokens, const CacheKeys& keys, std::int32_t max_items)
      : tokens_(tokens), keys_(keys), max_items_(max_items) {}

  // Reads block `block` of `block_size` tokens, all of which must be there; false if more than
  // `max_items` items overlap it. O(log items).
  bool read(std::int64_t block, std::int64_t block_size);
  // The block that was read last; valid until the next `read`.
  const BlockContent& content() const { return content_; }

 private:
  Tokens tokens_;
  CacheKeys keys_;
  std::int32_t max_items_;
  BlockContent content_;
  std::array<std::uint64_t, kMaxExtraWords> words_;
};

}  // namespace recto::cache
