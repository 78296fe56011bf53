#pragma once

// What cuda/cache/block_manager.h promises, implemented in the plainest way: the model is a
// copyable value, and an operation is tried on a copy, which is thrown away if it fails. No hashes,
// no reference counts, no lists: a prefix is found by the full text before it, holders are counted
// by looking at all tables, evictable blocks are sorted by when they were last held, and each
// slot's state is found by looking at each slot of each holder.
//
// It shares the types of the manager's public headers, but no code. Blocks, sequences, transfers
// and pins have names of the model's own, which are never reused: a block's name is valid from its
// allocation until the block is free again.

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
#include "verify/models/cache_text.h"

namespace recto::verify {

template <typename Tag>
using ModelName = Ordinal<Tag, Quantity<Tag>>;

using BlockName = ModelName<struct BlockNameTag>;
using SequenceName = ModelName<struct SequenceNameTag>;
using TransferName = ModelName<struct TransferNameTag>;
using PinName = ModelName<struct PinNameTag>;

// A table entry whose block was given back because no row sees it any more, or that never had one.
inline constexpr BlockName kGone{-1};

using ModelTable = std::vector<std::vector<BlockName>>;  // [group][logical index]

struct ModelSequence {
  cache::SequenceState state = cache::SequenceState::kRunning;
  bool is_released = false;  // while in a swap; the caller may no longer name it
  bool saw_reset = false;
  cache::CacheKeys keys = {};
  std::int64_t context = 0;  // tokens
  ModelTable device = {};
  ModelTable host = {};
  TextChain published = {};
  std::int64_t committed = 0;  // leading blocks that a commit has looked at
};

struct ModelAdmission {
  SequenceName sequence = {};
  std::int64_t hit = 0;  // tokens
};

struct ModelCopy {
  std::int32_t group = 0;
  BlockName source = {};
  BlockName destination = {};
  std::int64_t slots = 0;
};

struct ModelSwapCopy {
  std::int32_t group = 0;
  BlockName device = {};
  BlockName host = {};

  friend auto operator<=>(const ModelSwapCopy&, const ModelSwapCopy&) = default;
};

struct ModelTransfer {
  TransferName name = {};
  std::vector<ModelSwapCopy> copies = {};
};

struct ModelOpenTransfer {
  cache::SequenceState state = cache::SequenceState::kSwappingOut;  // or kSwappingIn
  std::vector<SequenceName> sequences = {};
};

struct ModelPin {
  PinName name = {};
  std::int64_t length = 0;  // tokens
};

// The key of a group's content that can be found.
struct FoundKey {
  TextChain chain = {};
  std::int32_t group = 0;

  friend auto operator<=>(const FoundKey&, const FoundKey&) = default;
};

class BlockManagerModel {
 public:
  explicit BlockManagerModel(const cache::CacheOptions& options);

  // Each does what the manager's does, and returns a status of the same code; messages say little.
  Result<ModelAdmission> admit(const CacheText& prompt, std::optional<std::int64_t> room);
  Result<std::vector<ModelCopy>> reserve(SequenceName sequence, std::int64_t length);
  Result<std::vector<ModelCopy>> append(SequenceName sequence, std::int64_t count);
  Result<std::vector<ModelCopy>> append(const std::vector<SequenceName>& sequences);
  Status commit(SequenceName sequence, const CacheText& text);
  Result<SequenceName> fork(SequenceName parent);
  Result<std::vector<SequenceName>> beam_step(const std::vector<SequenceName>& parents,
                                              const std::vector<std::int32_t>& parent_of);
  Status truncate(SequenceName sequence, std::int64_t length);
  Status release(SequenceName sequence);
  Status preempt(SequenceName sequence);
  Result<std::int64_t> resume(SequenceName sequence, const CacheText& prompt,
                              std::optional<std::int64_t> room);
  Result<ModelTransfer> swap_out(const std::vector<SequenceName>& sequences);
  Result<ModelTransfer> swap_in(const std::vector<SequenceName>& sequences, std::int64_t lookahead);
  Status complete(TransferName transfer);
  Result<ModelPin> pin(const CacheText& prompt);
  Status unpin(PinName pin);
  void reset_prefix_cache();

  std::int64_t cached_prefix(const CacheText& prompt) const;
  Result<cache::SequenceView> view(SequenceName sequence) const;
  std::int64_t available() const;
  cache::PoolStates states() const;
  cache::GroupStates group_states(std::int32_t group) const;
  cache::PoolStates host_states() const;
  // Its collisions are always 0, as they depend on hashes.
  const cache::CacheStatistics& statistics() const { return statistics_; }

  const std::map<SequenceName, ModelSequence>& sequences() const { return sequences_; }
  const std::map<FoundKey, BlockName>& findable() const { return findable_; }
  std::vector<BlockName> evictable() const;  // least recently used first
  std::int64_t free() const;
  std::int64_t host_free() const;
  std::map<BlockName, std::int64_t> device_holders() const;  // of all that are held
  std::map<BlockName, std::int64_t> host_holders() const;
  bool is_pinned(BlockName block) const;
  // The key of the content that can be found in the block, if there is any.
  const FoundKey* content(BlockName block) const;
  bool has_block(BlockName block) const { return blocks_.contains(block); }
  std::int64_t num_known_places() const;  // of the prefix index
  const std::map<TransferName, ModelOpenTransfer>& transfers() const { return transfers_; }
  const std::map<PinName, TextChain>& pins() const { return pins_; }
  const BlockText& text(std::int32_t number) const { return texts_->text(number); }
  // Whether there ever was a block with keys or items.
  bool met_words() const { return texts_->met_words(); }
  const cache::CacheOptions& options() const { return options_; }

 private:
  struct Block {
    std::int32_t group = 0;
    std::int64_t idle_since = 0;  // when its last holder gave it back, or it was unpinned
  };

  // Runs `operation(trial)` on a copy, which replaces this if the answer is ok.
  template <typename Operation>
  auto attempt(const Operation& operation) {
    BlockManagerModel trial = *this;
    auto answer = operation(trial);
    if (answer.is_ok()) *this = std::move(trial);
    return answer;
  }

  std::int64_t block_size() const { return options_.block_size.value(); }
  std::int64_t most_tokens() const;  // of a table
  std::int32_t num_groups() const;
  std::int64_t blocks_of(std::int64_t tokens) const;
  Status check_text(const CacheText& text) const;
  Status check_running(const std::vector<SequenceName>& names) const;
  Status check_state(const std::vector<SequenceName>& names, cache::SequenceState state) const;
  Status check_admission(const CacheText& prompt, std::optional<std::int64_t> room) const;

  // The first block that a row at this position of the group sees.
  std::int64_t first_seen(std::int32_t group, std::int64_t position) const;
  std::optional<std::int32_t> number_of(const CacheText& text, std::int64_t index) const;
  bool is_known(const TextChain& chain) const;
  std::int64_t places_of(std::int32_t text) const;
  std::int64_t most_known_places() const;
  bool has_all(const TextChain& chain, std::int64_t blocks) const;
  TextChain longest_hit(const CacheText& text, std::int64_t most_blocks) const;

  std::optional<BlockName> take(std::int32_t group);  // none if none is available
  void drop(BlockName& entry);
  void drop_from(ModelTable& table, std::int64_t blocks);
  void drop_unseen(ModelTable& table, std::int64_t context);
  void forget(BlockName block);

  Status enter(ModelSequence& sequence, const CacheText& prompt, std::optional<std::int64_t> room);
  Status extend(ModelTable& table, std::int64_t tokens);
  Status own_tail(ModelSequence& sequence, std::vector<ModelCopy>& copies);
  ModelSequence branch(const ModelSequence& parent) const;
  SequenceName name_sequence(ModelSequence sequence);
  Status publish_block(ModelSequence& sequence, std::int32_t text);
  Status send_out(ModelSequence& sequence, std::map<BlockName, BlockName>& host_of,
                  std::vector<ModelSwapCopy>& copies);
  Status fetch_in(ModelSequence& sequence, std::int64_t lookahead,
                  std::map<BlockName, BlockName>& device_of, std::vector<ModelSwapCopy>& copies);
  void finish(SequenceName name, cache::SequenceState was);
  std::map<BlockName, std::vector<bool>> used_slots(const ModelTable ModelSequence::*table) const;

  cache::CacheOptions options_;
  std::shared_ptr<BlockTexts> texts_ = std::make_shared<BlockTexts>();  // names only: may be shared
  std::map<BlockName, Block> blocks_;                                   // that are not free
  std::map<FoundKey, BlockName> findable_;
  std::map<SequenceName, ModelSequence> sequences_;
  std::map<TransferName, ModelOpenTransfer> transfers_;
  std::map<PinName, TextChain> pins_;
  cache::CacheStatistics statistics_;
  std::int64_t clock_ = 0;
  std::int64_t names_ = 0;
};

}  // namespace recto::verify
