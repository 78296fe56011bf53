#pragma once

// Paging with a prefix cache: full blocks are found by the chained hash of their tokens, while a
// sequence holds them and afterwards until they are evicted, least recently used first. The tail of
// a sequence is evicted before its start.

#include <cstdint>
#include <vector>

#include <absl/container/flat_hash_map.h>
#include "sim/allocators/paged_allocator.h"
#include "sim/allocators/token_hashes.h"

namespace recto::sim {

class PrefixCachedAllocator final : public PagedAllocator {
 public:
  explicit PrefixCachedAllocator(const PagedOptions& options);

  void open(SequenceId sequence, const SequenceSpec& spec) override;
  Fit fit(std::span<const SequenceId> members, TokenCount length, TokenCount spare) const override;
  TokenCount cached_prefix(SequenceId sequence, TokenCount length) const override;
  std::optional<Growth> admit(std::span<const SequenceId> members, TokenCount length) override;
  Growth share(SequenceId parent, SequenceId child, TokenCount length) override;
  Release release(SequenceId sequence, TokenCount context) override;
  void commit(SequenceId sequence, TokenCount context) override;
  bool reuses_prefixes() const override { return true; }
  std::string describe() const override;

  bool is_evictable(BlockId block) const override {
    return states_[static_cast<std::size_t>(block.value())].is_evictable;
  }
  bool is_cached(BlockId block) const override {
    return states_[static_cast<std::size_t>(block.value())].is_cached;
  }

 protected:
  std::int64_t available() const override { return free_.size() + evictable_; }
  std::int64_t evictable() const override { return evictable_; }
  void take(std::int64_t count, std::vector<BlockId>& table) override;
  void drop(std::span<const BlockId> blocks) override;

 private:
  static constexpr std::int32_t kNone = -1;

  // The known content of a block, and its position among the evictable blocks: a list threaded
  // through the blocks, oldest first.
  struct BlockState {
    std::uint64_t hash = 0;
    bool is_cached = false;
    bool is_evictable = false;
    std::int32_t older = kNone;
    std::int32_t newer = kNone;
  };
  struct Hits {
    std::int64_t count = 0;      // whole blocks found, from the first on
    std::int64_t evictable = 0;  // found blocks without a holder
  };

  BlockState& state(BlockId block) { return states_[static_cast<std::size_t>(block.value())]; }
  Hits find_hits(SequenceId sequence, TokenCount length) const;
  void append_evictable(BlockId block);
  void unlink_evictable(BlockId block);
  void forget(BlockId block);

  std::vector<BlockState> states_;
  std::int32_t oldest_ = kNone;
  std::int32_t newest_ = kNone;
  std::int64_t evictable_ = 0;
  absl::flat_hash_map<std::uint64_t, BlockId> block_of_hash_;
  mutable std::vector<TokenHashes> hashes_;  // by SequenceId; computed on demand
  std::vector<std::int64_t> committed_;      // by SequenceId: leading blocks processed by `commit`
};

}  // namespace recto::sim
