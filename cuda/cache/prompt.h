#pragma once

// The input of lookups and admissions: tokens, and everything else that determines their K and V.
//
//   const std::vector<TokenId> ids = {1, 2, 8, 8, 8, 3, 4};
//   const std::vector<MultimodalItem> items = {{.content_hash = 77, .start = 2, .length = 3}};
//   Prompt prompt{.tokens = {.ids = ids, .items = items}, .keys = {.lora_id = 5}};
//   // Hashed only once, however often it is looked up.
//   std::vector<BlockHash> hashes(ids.size() / 4);  // blocks of 4
//   const std::int64_t hashed = manager.hash_prompt(prompt, hashes).value();
//   prompt.hashes = std::span(hashes).first(static_cast<std::size_t>(hashed));
//   const bool fits = manager.can_admit(prompt);

#include <cstdint>
#include <ostream>
#include <span>

namespace recto::cache {

using TokenId = std::int32_t;

// An image or a sound, for example. Tokens [start, start + length) of a prompt are placeholders,
// which do not depend on the item; so the hash of its content is part of their identity.
struct MultimodalItem {
  std::uint64_t content_hash = 0;
  std::int64_t start = 0;
  std::int64_t length = 0;  // at least 1
};

// The caller's memory, read only during the call. Items are in ascending order, do not overlap, and
// may extend beyond the ids.
struct Tokens {
  std::span<const TokenId> ids = {};  // [num_tokens]
  std::span<const MultimodalItem> items = {};
};

// What K and V of a sequence depend on besides its tokens. Sequences with different keys never
// share blocks.
struct CacheKeys {
  std::uint64_t lora_id = 0;
  std::uint64_t tenant_salt = 0;

  friend bool operator==(const CacheKeys&, const CacheKeys&) = default;
};

// The hash under which a block's tokens after a parent are looked up.
struct BlockHash {
  std::uint64_t low = 0;
  std::uint64_t high = 0;  // 0 in hashes of 64 bits

  friend bool operator==(const BlockHash&, const BlockHash&) = default;
  friend std::ostream& operator<<(std::ostream& out, const BlockHash& hash);
};

struct Prompt {
  Tokens tokens = {};
  CacheKeys keys = {};
  // The hashes of its first blocks, computed by BlockManager::hash_prompt for these tokens and
  // keys; may be empty, or cover only some blocks. Hits are confirmed, so wrong hashes can only
  // cost hits.
  std::span<const BlockHash> hashes = {};
};

}  // namespace recto::cache
