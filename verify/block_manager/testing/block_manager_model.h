#pragma once

// A model of what cuda/cache/block_manager.h promises, implemented in the plainest way. The model
// is a copyable value. An operation runs on a copy, which is thrown away if the operation fails.
// There are no hashes, no reference counts and no lists: a prefix is found by its full text,
// holders are counted by looking at all tables, evictable blocks are sorted by when they were last
// held, and the state of each slot is found by looking at that slot of each holder.
//
// The model shares the types of the manager's public headers, but no code. It gives blocks and
// handles numbers of its own, which are never reused: a block's number is valid from its allocation
// until the block is free again.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/status.h"
#include "core/units.h"
#include "cuda/cache/block_manager.h"
#include "cuda/cache/testing/cache_text.h"

namespace recto::verify {

// The texts of consecutive full blocks, from the first one to the block itself. Each is named by
// its number (BlockManagerModel::text).
using TextChain = std::vector<std::int32_t>;

// The key of findable content in one group.
struct FoundKey {
  TextChain chain = {};
  std::int32_t group = 0;

  friend auto operator<=>(const FoundKey&, const FoundKey&) = default;
};

// An entry is cache::kNoBlock if no row sees the block any more, or if it never had a block.
using ModelTable = std::vector<std::vector<BlockId>>;  // [group][logical index]

struct ModelSequence {
  cache::SequenceState state = cache::SequenceState::kRunning;
  bool is_released = false;  // during a swap; the caller may no longer use its handle
  bool saw_reset = false;
  cache::CacheKeys keys = {};
  std::int64_t context = 0;  // tokens
  ModelTable device = {};
  ModelTable host = {};
  TextChain published = {};
  std::int64_t committed = 0;  // leading blocks that commits have looked at
};

struct ModelTransfer {
  cache::TransferHandle handle = {};
  std::vector<cache::SwapCopy> copies = {};
};

struct OpenTransfer {
  cache::SequenceState state = cache::SequenceState::kSwappingOut;  // or kSwappingIn
  std::vector<cache::SequenceHandle> sequences = {};
};

using HolderCounts = std::map<BlockId, std::int64_t>;  // table entries per held block

class BlockManagerModel {
 public:
  explicit BlockManagerModel(const cache::CacheOptions& options) : options_(options) {}

  // Each operation does what the manager's does, and returns a status of the same code. Messages
  // are shorter.
  Result<cache::Admission> admit(const cache::Prompt& prompt, std::optional<TokenCount> room = {});
  Result<TokenCount> resume(cache::SequenceHandle sequence, const cache::Prompt& prompt,
                            std::optional<TokenCount> room = {});
  Result<std::vector<cache::BlockCopy>> reserve(cache::SequenceHandle sequence, TokenCount length);
  Result<std::vector<cache::BlockCopy>> append(cache::SequenceHandle sequence, TokenCount count);
  Result<std::vector<cache::BlockCopy>> append(std::span<const cache::SequenceHandle> sequences);
  Status commit(cache::SequenceHandle sequence, const cache::Tokens& tokens);
  Result<cache::SequenceHandle> fork(cache::SequenceHandle parent);
  Result<std::vector<cache::SequenceHandle>> beam_step(
      std::span<const cache::SequenceHandle> parents, std::span<const std::int32_t> parent_of);
  Status truncate(cache::SequenceHandle sequence, TokenCount length);
  Status release(cache::SequenceHandle sequence);
  Status preempt(cache::SequenceHandle sequence);
  Result<ModelTransfer> swap_out(std::span<const cache::SequenceHandle> sequences);
  Result<ModelTransfer> swap_in(std::span<const cache::SequenceHandle> sequences,
                                TokenCount lookahead = {});
  Status complete(cache::TransferHandle transfer);
  Result<cache::Pin> pin(const cache::Prompt& prompt);
  Status unpin(cache::PinHandle pin);
  void reset_prefix_cache();

  TokenCount cached_prefix(const cache::Prompt& prompt) const;
  Result<cache::SequenceView> view(cache::SequenceHandle sequence) const;
  BlockCount available_blocks() const;
  cache::PoolStates states() const;
  cache::GroupStates group_states(std::int32_t group) const;
  cache::PoolStates host_states() const;
  // `collisions` is always 0, because it depends on hashes.
  const cache::CacheStatistics& statistics() const { return statistics_; }
  std::vector<BlockId> eviction_order() const;
  const cache::CacheOptions& options() const { return options_; }

  // The model's whole state. Sequences, transfers and pins are keyed by the index of their handles.
  const std::map<std::int32_t, ModelSequence>& sequences() const { return sequences_; }
  const ModelSequence& at(cache::SequenceHandle handle) const;
  const std::map<FoundKey, BlockId>& findable() const { return findable_; }
  const std::map<std::int32_t, OpenTransfer>& transfers() const { return transfers_; }
  const std::map<std::int32_t, TextChain>& pins() const { return pins_; }
  HolderCounts holders(ModelTable ModelSequence::*table = &ModelSequence::device) const;
  bool has_block(BlockId block) const { return blocks_.contains(block); }
  bool is_pinned(BlockId block) const;
  // The key of the block's findable content; null if there is none.
  const FoundKey* content(BlockId block) const;
  const cache::testing::BlockText& text(std::int32_t number) const {
    return *texts_->by_number[static_cast<std::size_t>(number)];
  }
  // Whether there ever was a block with keys or items.
  bool met_words() const;

 private:
  struct Block {
    std::int32_t group = 0;
    std::int64_t idle_since = 0;  // when its last holder dropped it, or when it was unpinned
  };
  // Equal texts have equal numbers, which never change.
  struct Texts {
    std::map<cache::testing::BlockText, std::int32_t> numbers = {};
    std::vector<const cache::testing::BlockText*> by_number = {};  // keys of `numbers`
  };

  // Runs `operation(trial)` on a copy, which replaces this model if the answer is ok.
  template <typename Operation>
  auto attempt(const Operation& operation) {
    BlockManagerModel trial = *this;
    auto answer = operation(trial);
    if (answer.is_ok()) *this = std::move(trial);
    return answer;
  }

  std::int64_t block_size() const { return options_.block_size.value(); }
  std::int64_t max_tokens() const;  // of a table
  std::int32_t num_groups() const { return static_cast<std::int32_t>(options_.groups.size()); }
  std::int64_t blocks_of(std::int64_t tokens) const { return ceil_div(tokens, block_size()); }
  bool is_caching() const;
  std::int64_t free() const;
  std::int64_t host_free() const;
  Status check_state(std::span<const cache::SequenceHandle> handles,
                     cache::SequenceState state) const;
  Status check_running(std::span<const cache::SequenceHandle> handles) const {
    return check_state(handles, cache::SequenceState::kRunning);
  }
  Status check_admission(const cache::Prompt& prompt, std::optional<TokenCount> room) const;

  // The first block that a row at this position sees in this group.
  std::int64_t first_seen(std::int32_t group, std::int64_t position) const;
  std::optional<std::int32_t> number_of(const cache::Prompt& text, std::int64_t index) const;
  template <typename Visit>
  void visit_known(const Visit& visit) const;
  bool is_known(const TextChain& chain) const;
  std::int64_t places_of(std::int32_t text) const;
  std::int64_t num_known_places() const;  // of the prefix index
  std::int64_t max_known_places() const;
  bool has_all(const TextChain& chain) const;
  TextChain longest_hit(const cache::Prompt& text, std::int64_t max_blocks) const;

  ModelSequence& edit(cache::SequenceHandle handle) { return sequences_.at(handle.index); }
  std::int32_t new_number() { return ++numbers_; }
  cache::SequenceHandle add(ModelSequence sequence);
  std::optional<BlockId> take(std::int32_t group);  // nothing if no block is available
  void drop(BlockId& entry);
  void drop_from(ModelTable& table, std::int64_t blocks);
  void drop_unseen(ModelSequence& sequence);
  void forget(BlockId block);
  Status enter(ModelSequence& sequence, const cache::Prompt& prompt,
               std::optional<TokenCount> room);
  Status extend(ModelTable& table, std::int64_t tokens);
  Status own_tail(ModelSequence& sequence, std::vector<cache::BlockCopy>& copies);
  ModelSequence branch(const ModelSequence& parent) const;
  Status publish_block(ModelSequence& sequence, std::int32_t text);
  Status send_out(ModelSequence& sequence, std::map<BlockId, BlockId>& host_of,
                  std::vector<cache::SwapCopy>& copies);
  Status fetch_in(ModelSequence& sequence, std::int64_t lookahead,
                  std::map<BlockId, BlockId>& device_of, std::vector<cache::SwapCopy>& copies);
  std::map<BlockId, std::vector<bool>> used_slots(ModelTable ModelSequence::*table) const;

  cache::CacheOptions options_;
  std::shared_ptr<Texts> texts_ = std::make_shared<Texts>();  // names only: may be shared
  std::map<BlockId, Block> blocks_;                           // all that are not free
  std::map<FoundKey, BlockId> findable_;
  std::map<std::int32_t, ModelSequence> sequences_;
  std::map<std::int32_t, OpenTransfer> transfers_;
  std::map<std::int32_t, TextChain> pins_;
  cache::CacheStatistics statistics_;
  std::int64_t clock_ = 0;
  std::int32_t numbers_ = 0;
};

}  // namespace recto::verify
