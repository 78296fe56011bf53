#pragma once

// An allocator under watch: forwards every call and records what it changed, block by block, so
// that nobody has to compare tables.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/units.h"
#include "sim/allocators/allocator.h"
#include "sim/allocators/paged_allocator.h"
#include "verify/block_manager/managed_allocator.h"

namespace recto::experiments {

// A block (for contiguous allocators, a region) that a sequence got, had filled, or gave back.
struct PlaceChange {
  enum class Kind : std::uint8_t { kTaken, kLeft, kFilled };
  Kind kind = Kind::kTaken;
  sim::SequenceId sequence;
  std::int64_t request_id = 0;
  std::int32_t member = 0;
  std::int64_t final_context = 0;
  std::int64_t index = 0;    // logical block; 0 for regions
  std::int64_t begin = 0;    // block number, or first slot of the region
  std::int64_t size = 1;     // blocks, or slots of the region
  std::int64_t context = 0;  // left for good: tokens that the sequence had
  // Taken: a copy of a block that others hold (copy-on-write). Filled: a copy of the region of the
  // sequence that this one forked from.
  bool was_copied = false;
  bool was_evicted = false;  // taken: its cached content was evicted for it
};

class WatchedAllocator final : public sim::Allocator {
 public:
  explicit WatchedAllocator(std::unique_ptr<sim::Allocator> inner);

  // Returns the changes since the last call, in order.
  std::vector<PlaceChange> take_changes();
  const sim::Allocator& inner() const { return *inner_; }
  // Whether nobody holds the block, but its content can be found again.
  bool is_cached(BlockId block) const;
  // The blocks of the sequence's table, as last recorded; none for contiguous allocators.
  std::span<const BlockId> block_table(sim::SequenceId sequence) const {
    return holders_[static_cast<std::size_t>(sequence.value())].table;
  }

  void open(sim::SequenceId sequence, const sim::SequenceSpec& spec) override;
  void close(sim::SequenceId sequence) override { inner_->close(sequence); }
  bool can_ever_hold(const sim::Request& request, TokenCount spare) const override {
    return inner_->can_ever_hold(request, spare);
  }
  sim::Fit fit(std::span<const sim::SequenceId> members, TokenCount length,
               TokenCount spare) const override {
    return inner_->fit(members, length, spare);
  }
  TokenCount cached_prefix(sim::SequenceId sequence, TokenCount length) const override {
    return inner_->cached_prefix(sequence, length);
  }
  std::optional<sim::Growth> admit(std::span<const sim::SequenceId> members,
                                   TokenCount length) override;
  std::optional<sim::Growth> grow(sim::SequenceId sequence, TokenCount context,
                                  TokenCount length) override;
  bool append_blocks(std::span<const sim::SequenceId> sequences) override;
  sim::Growth share(sim::SequenceId parent, sim::SequenceId child, TokenCount length) override;
  sim::Release release(sim::SequenceId sequence, TokenCount context) override;
  sim::TableShape shape(std::span<const sim::SequenceId> members,
                        TokenCount context) const override {
    return inner_->shape(members, context);
  }
  void begin_swap_out(std::span<const sim::SequenceId> members, TokenCount context) override {
    inner_->begin_swap_out(members, context);
  }
  bool restore(std::span<const sim::SequenceId> members, const sim::TableShape& shape,
               TokenCount spare) override;
  void finish_restore(std::span<const sim::SequenceId> members, TokenCount context) override {
    inner_->finish_restore(members, context);
  }
  void commit(sim::SequenceId sequence, TokenCount context) override {
    inner_->commit(sequence, context);
  }
  sim::PoolCounts counts() const override { return inner_->counts(); }
  TokenCount block_size() const override { return inner_->block_size(); }
  bool reuses_prefixes() const override { return inner_->reuses_prefixes(); }
  bool is_paged() const override { return inner_->is_paged(); }
  std::string describe() const override { return inner_->describe(); }

 private:
  struct Holder {
    sim::SequenceSpec spec;
    std::vector<BlockId> table;  // as of the last change
  };
  Holder& holder(sim::SequenceId sequence) {
    return holders_[static_cast<std::size_t>(sequence.value())];
  }
  PlaceChange change(PlaceChange::Kind kind, sim::SequenceId sequence);
  // Records what is new in the table, from entry `from` on. `hits` of its entries were found
  // cached.
  void note_table(sim::SequenceId sequence, std::size_t from, std::int64_t hits);
  void note_region(sim::SequenceId sequence);
  std::span<const BlockId> table_now(sim::SequenceId sequence) const;

  std::unique_ptr<sim::Allocator> inner_;
  // Where blocks are read from: the simulator's own allocator or the production manager; regions
  // have neither.
  const sim::PagedAllocator* paged_;
  const verify::ManagedAllocator* managed_;
  std::vector<Holder> holders_;           // by SequenceId
  std::vector<char> has_content_;         // [block] it was cached when it last had no holder
  std::vector<std::int32_t> holders_of_;  // [block]
  std::vector<PlaceChange> changes_;
};

}  // namespace recto::experiments
