#pragma once

// Reports when content becomes findable in a prefix cache, and when it stops being findable: for
// routers that send requests to the engine that has their prefix.
//
//   struct Router final : CacheEvents {
//     void on_stored(const StoredBlock& stored) override { known.insert(stored.hash.low); }
//     void on_removed(const RemovedBlock& removed) override { known.erase(removed.hash.low); }
//     void on_cleared() override { known.clear(); }
//     std::set<std::uint64_t> known;
//   };
//   Router router;
//   options.events = &router;

#include <cstdint>
#include <span>

#include "core/units.h"
#include "cuda/cache/block_hash.h"
#include "cuda/cache/prompt.h"

namespace recto::cache {

// A block of a group that now holds these tokens, after that parent.
struct StoredBlock {
  BlockHash hash = {};
  BlockHash parent_hash = {};                       // root_hash() of the first block
  std::span<const TokenId> tokens = {};             // [block_size]; valid during the call
  std::span<const std::uint64_t> extra_words = {};  // lora, salt, items: as hashed
  std::int32_t group = 0;
  BlockId block{};
};

struct RemovedBlock {
  BlockHash hash = {};
  std::int32_t group = 0;
  BlockId block{};
};

// Called in the middle of operations, so it must not call the manager. For each (hash, group),
// stored and removed alternate unless hashes collide. `on_cleared` removes everything stored.
class CacheEvents {
 public:
  virtual ~CacheEvents() = default;

  virtual void on_stored(const StoredBlock& stored) = 0;
  virtual void on_removed(const RemovedBlock& removed) = 0;
  virtual void on_cleared() = 0;
};

}  // namespace recto::cache
