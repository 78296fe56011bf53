#pragma once

// An allocator of the simulator that runs on the production block manager. It translates operations
// one by one, and reads amounts off what the manager reports. Only the manager knows which blocks a
// sequence holds, what is cached, and what is evicted first.
//
// The simulator reports a context's length when something happens to the sequence, not at every
// token. The manager's context length is brought up to date then, or by `follow`.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <absl/container/flat_hash_map.h>
#include "core/status.h"
#include "core/units.h"
#include "cuda/cache/block_manager.h"
#include "sim/allocators/allocator.h"
#include "sim/metrics/pool_account.h"
#include "verify/block_manager/prompt_tokens.h"

namespace recto::verify {

struct ManagedOptions {
  TokenCount pool_slots;
  TokenCount block_size{16};
  BlockCount null_blocks{0};
  cache::PrefixCaching caching = cache::PrefixCaching::kOff;
  TokenCount host_pool{0};  // slots for swapped sequences
  // The scheduler's limits: slots that an admission leaves free, sequences that run at a time,
  // tokens of the longest sequence, and the most sequences that one request decodes into.
  TokenCount watermark{0};
  std::int64_t max_sequences = 256;
  TokenCount max_length{2048};
  std::int32_t max_width = 1;
};

// An engine that moves K and V derives from this class and overrides `on_copies`, `on_swap_out` and
// `on_swap_in`.
class ManagedAllocator : public sim::Allocator {
 public:
  // Fails if the manager cannot be created.
  static Result<std::unique_ptr<ManagedAllocator>> create(const ManagedOptions& options);

  void open(sim::SequenceId sequence, const sim::SequenceSpec& spec) override;
  void close(sim::SequenceId sequence) override;
  bool can_ever_hold(const sim::Request& request, TokenCount spare) const override;
  sim::Fit fit(std::span<const sim::SequenceId> members, TokenCount length,
               TokenCount spare) const override;
  TokenCount cached_prefix(sim::SequenceId sequence, TokenCount length) const override;
  std::optional<sim::Growth> admit(std::span<const sim::SequenceId> members,
                                   TokenCount length) override;
  std::optional<sim::Growth> grow(sim::SequenceId sequence, TokenCount context,
                                  TokenCount length) override;
  bool append_blocks(std::span<const sim::SequenceId> sequences) override;
  sim::Growth share(sim::SequenceId parent, sim::SequenceId child, TokenCount length) override;
  sim::Release release(sim::SequenceId sequence, TokenCount context) override;
  sim::TableShape shape(std::span<const sim::SequenceId> members,
                        TokenCount context) const override;
  void begin_swap_out(std::span<const sim::SequenceId> members, TokenCount context) override;
  bool restore(std::span<const sim::SequenceId> members, const sim::TableShape& shape,
               TokenCount spare) override;
  void finish_restore(std::span<const sim::SequenceId> members, TokenCount context) override;
  void commit(sim::SequenceId sequence, TokenCount context) override;
  sim::PoolCounts counts() const override;
  TokenCount block_size() const override { return manager_.options().block_size; }
  bool reuses_prefixes() const override {
    return manager_.options().prefix.caching == cache::PrefixCaching::kOn;
  }
  bool is_paged() const override { return true; }
  std::span<const BlockId> block_table(sim::SequenceId sequence) const override {
    return member(sequence).handle ? table(member(sequence)) : std::span<const BlockId>();
  }
  std::int32_t sharers(BlockId block) const override;
  bool is_cached(BlockId block) const override;
  bool is_evictable(BlockId block) const override;
  std::string describe() const override;  // equal to the text of the simulator's own allocator

  // Tells the manager that the sequence has computed `context` tokens. Does nothing if it is not
  // running.
  void follow(sim::SequenceId sequence, TokenCount context);

  // The manager's account. The final lengths, which the manager does not know, split its held-empty
  // slots. Call `follow` for all sequences first. Tokens outside a window count as used.
  // O(sequences).
  sim::PoolStates states() const;
  // The same for the host pool, where held slots without tokens count as reserved. O(sequences).
  sim::PoolStates host_states() const;
  // Slots without tokens that are swapped out and in as if they were context.
  TokenCount swapped_room(sim::SequenceId sequence) const { return member(sequence).swapped_room; }

  cache::SequenceHandle handle(sim::SequenceId sequence) const { return *member(sequence).handle; }

  // Appends up to `count` tokens after a context of `context`, as many as fit without preemption.
  // Returns how many.
  TokenCount append_drafts(sim::SequenceId sequence, TokenCount context, TokenCount count);
  // Keeps the first `kept` of the tokens after `context`, which is the scheduler's context length,
  // and rolls back the rest. Call it before the scheduler continues. If `kept` is not 0, the
  // scheduler must next ask for their room (`grow`), as ContinuousScheduler::gain does.
  void take_back(sim::SequenceId sequence, TokenCount context, TokenCount kept);

  // Makes member i continue from member parent_of[i]. All members must be running, with a context
  // of `context`.
  void branch(std::span<const sim::SequenceId> members, std::span<const std::int32_t> parent_of,
              TokenCount context);

  const cache::BlockManager& manager() const { return manager_; }

 protected:
  ManagedAllocator(const ManagedOptions& options, cache::BlockManager manager);
  static Result<cache::BlockManager> make_manager(const ManagedOptions& options);

  // The derived class must move the data at once: before the step, and before the next decision.
  virtual void on_copies(std::span<const cache::BlockCopy>) {}
  virtual void on_swap_out(std::span<const cache::SwapCopy>) {}
  virtual void on_swap_in(std::span<const cache::SwapCopy>) {}

  const sim::SequenceSpec& spec(sim::SequenceId sequence) const { return member(sequence).spec; }
  bool is_running(sim::SequenceId sequence) const { return is_running(member(sequence)); }

 private:
  struct Member {
    sim::SequenceSpec spec;
    std::optional<cache::SequenceHandle> handle;  // from the first admission on
    TokenCount swapped_room;                      // during a swap: room that counts as context
    TokenCount told_capacity;  // capacity before the last drafts, as the scheduler knows it
    TokenCount kept_drafts;    // drafts that the scheduler does not know of yet
  };
  // A set of sequences that is being swapped out.
  struct Departure {
    cache::TransferHandle transfer;
    std::int64_t members_left = 0;                    // members not released yet
    absl::flat_hash_map<BlockId, std::int32_t> gone;  // entries of released members
  };

  Member& member(sim::SequenceId sequence) {
    return members_[static_cast<std::size_t>(sequence.value())];
  }
  const Member& member(sim::SequenceId sequence) const {
    return members_[static_cast<std::size_t>(sequence.value())];
  }
  std::int64_t blocks_of(TokenCount tokens) const;
  std::int64_t blocks_of_others(std::span<const sim::SequenceId> members, TokenCount length) const;
  cache::Prompt prompt(sim::SequenceId sequence, TokenCount length) const;
  cache::SequenceView view(const Member& member) const;
  bool is_running(const Member& member) const;
  std::span<const BlockId> table(const Member& member) const;
  std::vector<cache::SequenceHandle> handles(std::span<const sim::SequenceId> members) const;
  void catch_up(const Member& member, TokenCount context);
  sim::Release depart(Member& member, TokenCount context);
  TokenCount tail_slots() const;
  TokenCount swapped_room_where(bool (*where)(cache::SequenceState state)) const;

  TokenCount remainder_;  // slots of the pool that do not fill a block
  TokenCount host_remainder_;
  std::int64_t table_entries_ = 0;
  cache::BlockManager manager_;
  std::vector<Member> members_;  // by SequenceId
  // Computed on demand: tokens, and hashes of the leading blocks of each sequence.
  mutable PromptTokens tokens_;
  mutable std::vector<std::vector<cache::BlockHash>> hashes_;  // by SequenceId
  std::optional<Departure> departure_;
  cache::TransferHandle arrival_;
};

}  // namespace recto::verify
