#pragma once

// Reads a prompt block by block, in the form that the prefix index needs: the tokens of each block,
// the extra words that are part of its content, and the hash.

#include <array>
#include <cstdint>
#include <span>

#include "core/status.h"
#include "cuda/cache/block_hash.h"
#include "cuda/cache/cache_options.h"
#include "cuda/cache/prefix_index.h"
#include "cuda/cache/prompt.h"

namespace recto::cache {

// Invalid input if items have no length, are not in ascending order, or overlap. O(items).
Status check_tokens(const Tokens& tokens);

// The number of extra words for keys, in a first block, and for an item.
inline constexpr std::int32_t kKeyWords = 2;
inline constexpr std::int32_t kItemWords = 3;

static_assert(kMaxExtraWords >= kKeyWords + kItemWords * kMaxItemsPerBlock);

// The extra words of a first block begin with the keys, unless both are 0. In any block follow, for
// each overlapping item, its hash, its start relative to the block, and its length. Hashes depend
// on hashes, not on nodes, so that the next block can be hashed before the last one is found.
class PromptReader {
 public:
  // Reads from the first block on. The options must outlive it; the tokens must pass check_tokens.
  PromptReader(const CacheOptions& options, const Prompt& prompt)
      : PromptReader(options, prompt, 0, root_hash()) {}
  // The same from `block` on, where the block before has this hash.
  PromptReader(const CacheOptions& options, const Prompt& prompt, std::int64_t block,
               const BlockHash& hash)
      : options_(options),
        tokens_(prompt.tokens),
        keys_(prompt.keys),
        told_(prompt.hashes),
        block_(block),
        key_{.hash = hash} {}

  // Reads the next block, which must be complete; `parent` is the node of the block before. False
  // if too many items overlap the block. Does not compute hashes that the prompt already has.
  // O(block size + log items).
  bool next(NodeId parent);
  // The last block read, and its position in the index; valid until the next `next`.
  const BlockContent& content() const { return content_; }
  const PrefixIndex::Key& key() const { return key_; }

 private:
  bool read_words(std::int64_t begin, std::int64_t end);

  const CacheOptions& options_;
  Tokens tokens_;
  CacheKeys keys_;
  std::span<const BlockHash> told_;  // [at most the prompt's blocks]
  std::int64_t block_;
  // Returned by reference: a copy would be loaded before the halves of the hash are stored, and so
  // would wait for the store.
  PrefixIndex::Key key_;
  BlockContent content_;
  std::array<std::uint64_t, kMaxExtraWords> words_;
};

// As BlockManager::hash_prompt.
Result<std::int64_t> hash_prompt(const CacheOptions& options, const Prompt& prompt,
                                 std::span<BlockHash> hashes);

}  // namespace recto::cache
