#pragma once

// An allocator wrapper that forwards every call and records its changes, block by block, so that
// observers need not compare tables.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/units.h"
#include "sim/allocators/allocator.h"

namespace recto::experiments {

// A block (for contiguous allocators, a region) that a sequence took, filled, or left.
struct PlaceChange {
  enum class Kind : std::uint8_t { kTaken, kLeft, kFilled };
  Kind kind = Kind::kTaken;
  sim::SequenceId sequence;
  std::int64_t request_id = 0;
  std::int32_t member = 0;
  std::int64_t final_context = 0;
  std::int64_t index = 0;    // logical block; 0 for regions
  std::int64_t begin = 0;    // block number, or first slot of the region
  std::int64_t size = 1;     // taken: blocks, or slots of the region
  std::int64_t context = 0;  // if left for good: the sequence's tokens
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
  // The last recorded blocks of the sequence's table, or first slot of its region.
  std::span<const std::int64_t> places(sim::SequenceId sequence) const {
    return holders_[static_cast<std::size_t>(sequence.value())].places;
  }
  // Slots in each place of the sequence.
  std::int64_t place_slots(sim::SequenceId sequence) const;

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
  std::span<const BlockId> block_table(sim::SequenceId sequence) const override {
    return inner_->block_table(sequence);
  }
  sim::Region region(sim::SequenceId sequence) const override { return inner_->region(sequence); }
  std::int32_t sharers(BlockId block) const override { return inner_->sharers(block); }
  bool is_cached(BlockId block) const override { return inner_->is_cached(block); }
  bool is_evictable(BlockId block) const override { return inner_->is_evictable(block); }
  std::string describe() const override { return inner_->describe(); }

 private:
  struct Holder {
    sim::SequenceSpec spec;
    std::vector<std::int64_t> places;  // as of the last change
  };
  Holder& holder(sim::SequenceId sequence) {
    return holders_[static_cast<std::size_t>(sequence.value())];
  }
  std::vector<std::int64_t> places_now(sim::SequenceId sequence) const;
  PlaceChange& change(PlaceChange::Kind kind, sim::SequenceId sequence, std::size_t index,
                      std::int64_t begin);
  // Records the new entries of the sequence's table, from entry `from` on; `hits` of them were
  // prefix hits.
  void note(sim::SequenceId sequence, std::size_t from, std::int64_t hits);

  std::unique_ptr<sim::Allocator> inner_;
  std::vector<Holder> holders_;           // by SequenceId
  std::vector<char> has_content_;         // [place] cached when it last had no holder
  std::vector<std::int32_t> holders_of_;  // [place]
  std::vector<PlaceChange> changes_;
};

}  // namespace recto::experiments
