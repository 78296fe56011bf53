#pragma once

// The content of a prefix cache as derived from its events alone, as a router sees it.

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "core/contract.h"
#include "cuda/cache/block_hash.h"
#include "cuda/cache/cache_events.h"
#include "cuda/cache/testing/cache_text.h"

namespace recto::cache::testing {

// An impossible event is a broken contract.
class EventMirror final : public CacheEvents {
 public:
  struct Stored {
    BlockHash hash = {};
    BlockHash parent_hash = {};
    std::vector<TokenId> tokens = {};
    std::vector<std::uint64_t> words = {};
    std::vector<SlotTag> tags = {};  // contents of the block, filled in by the walk
  };
  using Key = std::pair<BlockId, std::int32_t>;  // block and group

  void on_stored(const StoredBlock& stored) override {
    const auto place = stored_.lower_bound({stored.block, 0});
    RECTO_CHECK(place == stored_.end() || place->first.first != stored.block);
    stored_[{stored.block, stored.group}] = {
        .hash = stored.hash,
        .parent_hash = stored.parent_hash,
        .tokens = {stored.tokens.begin(), stored.tokens.end()},
        .words = {stored.extra_words.begin(), stored.extra_words.end()}};
  }
  void on_removed(const RemovedBlock& removed) override {
    const auto found = stored_.find({removed.block, removed.group});
    RECTO_CHECK(found != stored_.end());
    RECTO_CHECK_EQ(found->second.hash, removed.hash);
    stored_.erase(found);
  }
  void on_cleared() override { stored_.clear(); }

  const std::map<Key, Stored>& stored() const { return stored_; }
  std::map<Key, Stored>& stored() { return stored_; }

 private:
  std::map<Key, Stored> stored_;
};

}  // namespace recto::cache::testing
