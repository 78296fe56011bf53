#include "cuda/cache/block_hash.h"

// Inlined, because a block is a short input.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <iomanip>

#include "core/contract.h"

namespace recto::cache {
namespace {

constexpr std::size_t kFixedWords = 4;  // the parent's and the tokens'

BlockHash hash_bytes(std::span<const std::byte> bytes, HashWidth width) {
  if (width == HashWidth::k64) return {.low = XXH3_64bits(bytes.data(), bytes.size()), .high = 0};
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return {.low = hash.low64, .high = hash.high64};
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const BlockHash& hash) {
  const std::ios::fmtflags flags = out.flags();
  out << std::hex << std::setfill('0') << std::setw(16) << hash.high << std::setw(16) << hash.low;
  out.flags(flags);
  return out << std::setfill(' ');
}

// The tokens' hash does not depend on the parent's.
BlockHash BlockHasher::operator()(const BlockHash& parent, std::span<const TokenId> tokens,
                                  std::span<const std::uint64_t> extra_words) const {
  RECTO_CHECK_LE(extra_words.size(), kMaxExtraWords);
  const BlockHash own = hash_bytes(std::as_bytes(tokens), width);
  std::array<std::uint64_t, kFixedWords + kMaxExtraWords> link;
  link[0] = parent.low;
  link[1] = parent.high;
  link[2] = own.low;
  link[3] = own.high;
  std::copy(extra_words.begin(), extra_words.end(), link.begin() + kFixedWords);
  const std::span used(link.data(), kFixedWords + extra_words.size());
  const BlockHash hash = hash_bytes(std::as_bytes(used), width);
  return {.low = hash.low & mask, .high = hash.high & mask};
}

}  // namespace recto::cache
