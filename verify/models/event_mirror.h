#pragma once

// What a router would believe to be in a prefix cache, from events alone.

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cuda/cache/block_hash.h"
#include "cuda/cache/cache_events.h"

namespace recto::verify {

class EventMirror final : public cache::CacheEvents {
 public:
  struct Stored {
    cache::BlockHash hash = {};
    cache::BlockHash parent_hash = {};
    std::vector<cache::TokenId> tokens = {};
    std::vector<std::uint64_t> words = {};
  };
  using Key = std::pair<std::int32_t, BlockId>;  // group and block

  void on_stored(const cache::StoredBlock& stored) override;
  void on_removed(const cache::RemovedBlock& removed) override;
  void on_cleared() override;

  const std::map<Key, Stored>& stored() const { return stored_; }
  std::int64_t num_cleared() const { return num_cleared_; }
  // The first impossible event; empty if there was none.
  const std::string& fault() const { return fault_; }

 private:
  std::map<Key, Stored> stored_;
  std::int64_t num_cleared_ = 0;
  std::string fault_;
};

}  // namespace recto::verify
