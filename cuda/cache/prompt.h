#pragma once

// What a cache is asked about: tokens, and what else decides which K and V they have.
//
//   const std::vector<TokenId> ids = {1, 2, 8, 8, 8, 3, 4};
//   const std::vector<MultimodalItem> items = {{.content_hash = 77, .start = 2, .length = 3}};
//   Prompt prompt{.tokens = {.ids = ids, .items = items}, .keys = {.lora_id = 5}};
//   // Asked about again and again, it is hashed once.
//   std::vector<BlockHash> hashes(ids.size() / 4);  // blocks of 4
//   const std::int64_t hashed = manager.hash_prompt(prompt, hashes).value();
//   prompt.hashes = std::span(hashes).first(static_cast<std::size_t>(hashed));
//   const bool fits = manager.can_admit(prompt);

#include <cstdint>
#include <ostream>
#include <span>

namespace recto::cache {

using TokenId = std::int32_t;

// An image, a sound: tokens [start, start + length) of a prompt are placeholders, equal whatever
// stands behind them, so that the hash of what does is part of their identity.
struct MultimodalItem {
  std::uint64_t content_hash = 0;
  std::int64_t start = 0;
  std::int64_t length = 0;  // at least 1
};

// Memory of the caller; read during the call alone. Items are in ascending order and apart, and may
// reach beyond the ids.
struct Tokens {
  std::span<const TokenId> ids = {};  // [num_tokens]
  std::span<const MultimodalItem> items = {};
};

// What all K and V of a sequence depend on beside its tokens. Sequences with different keys share
// nothing.
struct CacheKeys {
  std::uint64_t lora_id = 0;
  std::uint64_t tenant_salt = 0;

  friend bool operator==(const CacheKeys&, const CacheKeys&) = default;
};

// What a block's worth of tokens behind a parent is looked for by.
struct BlockHash {
  std::uint64_t low = 0;
  std::uint64_t high = 0;  // 0 in hashes of 64 bits

  friend bool operator==(const BlockHash&, const BlockHash&) = default;
  friend std::ostream& operator<<(std::ostream& out, const BlockHash& hash);
};

struct Prompt {
  Tokens tokens = {};
  CacheKeys keys = {};
  // Of its first blocks, as BlockManager::hash_prompt told them of these tokens and keys; or none,
  // or not all. What is found is confirmed: wrong hashes cost hits, and nothing else.
  std::span<const BlockHash> hashes = {};
};

}  // namespace recto::cache
