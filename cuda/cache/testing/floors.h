#pragma once

// The cost of memory accesses and hashing on this machine, in this run: the floors and references
// for the manager's operations.

#include <cstdint>
#include <span>
#include <vector>

#include "cuda/cache/prompt.h"

namespace recto::cache::testing {

// 0 to count - 1 in an order that defeats prefetchers; always the same.
std::vector<std::int32_t> scattered(std::int64_t count);

// Memory of `bytes` whose cache lines form a chain in scattered order: each step is a load that
// waits for the previous one, and misses every cache that is smaller than the memory. A reference,
// not a floor: misses that need not wait for each other overlap and take less time.
class PointerChase {
 public:
  explicit PointerChase(std::int64_t bytes);

  // Takes this many steps and returns the final position.
  std::int32_t walk(std::int64_t steps);

 private:
  struct alignas(64) Line {
    std::int32_t next = 0;
  };

  std::vector<Line> lines_;
  std::int32_t at_ = 0;
};

// XXH3 of all tokens at once, 64 bits: the speed at which bytes can be hashed.
std::uint64_t hash_at_once(std::span<const TokenId> tokens);

// `count` ids that depend on the seed, already from the first one on.
std::vector<TokenId> prompt_ids(std::uint64_t seed, std::int64_t count);

}  // namespace recto::cache::testing
