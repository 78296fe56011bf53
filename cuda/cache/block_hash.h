#pragma once

// The hash of a block's tokens after a parent: chained xxHash (XXH3), 64 or 128 bits. A hash only
// finds candidates: the prefix index then compares the content.

#include <cstddef>
#include <cstdint>
#include <span>

#include "cuda/cache/prompt.h"

namespace recto::cache {

enum class HashWidth : std::uint8_t { k64, k128 };

// The most words that may be hashed in addition to the tokens.
inline constexpr std::size_t kMaxExtraWords = 98;

// The parent hash of first blocks.
constexpr BlockHash root_hash() { return {.low = 0x7265'6374'6f00'0001U, .high = 0}; }

// How blocks are hashed. `mask` is applied to both words; tests use it to cause collisions.
struct BlockHasher {
  HashWidth width = HashWidth::k64;
  std::uint64_t mask = ~std::uint64_t{0};

  // Gives the same hash on every little-endian machine. O(tokens + words), no allocation.
  BlockHash operator()(const BlockHash& parent, std::span<const TokenId> tokens,
                       std::span<const std::uint64_t> extra_words) const;
};

}  // namespace recto::cache
