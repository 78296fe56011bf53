#pragma once

// What a cache is asked about: tokens, and what else decides which K and V they have.

#include <cstdint>
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

struct Prompt {
  Tokens tokens = {};
  CacheKeys keys = {};
};

}  // namespace recto::cache
