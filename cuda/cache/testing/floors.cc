#include "cuda/cache/testing/floors.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <numeric>
#include <utility>

#include "core/random_stream.h"

namespace recto::cache::testing {

std::vector<std::int32_t> scattered(std::int64_t count) {
  RandomStream stream = RandomStream(1).split("scattered");
  std::vector<std::int32_t> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  shuffle(order, stream);
  return order;
}

PointerChase::PointerChase(std::int64_t bytes)
    : lines_(static_cast<std::size_t>(bytes) / sizeof(Line) + 1) {
  const std::vector<std::int32_t> order = scattered(std::ssize(lines_));
  for (std::size_t i = 0; i < order.size(); ++i) {
    lines_[static_cast<std::size_t>(order[i])].next = order[(i + 1) % order.size()];
  }
}

std::int32_t PointerChase::walk(std::int64_t steps) {
  for (; steps > 0; --steps) at_ = lines_[static_cast<std::size_t>(at_)].next;
  return at_;
}

std::uint64_t hash_at_once(std::span<const TokenId> tokens) {
  return XXH3_64bits(tokens.data(), tokens.size_bytes());
}

std::vector<TokenId> prompt_ids(std::uint64_t seed, std::int64_t count) {
  RandomStream stream = RandomStream(seed).split("prompt");
  std::vector<TokenId> ids(static_cast<std::size_t>(count));
  for (TokenId& id : ids) id = static_cast<TokenId>(stream.next_u64() & 0x1'ffffU);
  return ids;
}

}  // namespace recto::cache::testing
