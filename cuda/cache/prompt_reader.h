#pragma once

// Reads a prompt block by block, as the prefix index is given it: the tokens of each block, the
// extra words that, together with the tokens, decide whether two blocks are the same, and the hash.

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

// The extra words that the keys take in a first block, and that an item takes.
inline constexpr std::int32_t kKeyWords = 2;
inline constexpr std::int32_t kItemWords = 3;

static_assert(kMaxExtraWords >= kKeyWords + kItemWords * kMaxItemsPerBlock);

// The extra words of a first block begin with the keys, unless both are 0. In any block there
// follow, for each item that overlaps it, the item's hash, its start relative to the block, and its
// length. Hashes depend on hashes, not on nodes, so that the next block can be hashed before the
// last one is found.
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

  // Reads the next block, all tokens of which must be there; `parent` is the node of the block
  // before. False if too many items overlap the block. Hashes that come with the prompt are not
  // computed. O(block size + log items).
  bool next(NodeId parent);
  // The block that was read last, and where it is in the index; valid until the next `next`.
  const BlockContent& content() const { return content_; }
  const PrefixIndex::Key& key() const { return key_; }

 private:
  bool read_words(std::int64_t begin, std::int64_t end);

  const CacheOptions& options_;
  Tokens tokens_;
  CacheKeys keys_;
  std::span<const BlockHash> told_;  // [at most the prompt's blocks]
  std::int64_t block_;
  // Handed out by reference: a copy is loaded before the halves of the hash are stored, and so
  // waits for whatever the memory still has to bring.
  PrefixIndex::Key key_;
  BlockContent content_;
  std::array<std::uint64_t, kMaxExtraWords> words_;
};

// As BlockManager::hash_prompt.
Result<std::int64_t> hash_prompt(const CacheOptions& options, const Prompt& prompt,
                                 std::span<BlockHash> hashes);

}  // namespace recto::cache
