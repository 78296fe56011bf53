#pragma once

// Keeps allocator and account consistent: all code that moves slots calls this class, so that no
// slot changes its holder without changing state.

#include <cstdint>
#include <optional>
#include <span>

#include "sim/allocators/allocator.h"
#include "sim/metrics/pool_account.h"
#include "sim/metrics/report.h"
#include "sim/scheduling/sequence_group.h"

namespace recto::sim {

class KvHoldings {
 public:
  // All references must outlive this object. `window` 0: every token stays visible.
  KvHoldings(Allocator& allocator, Counters& counters, TokenCount window);

  // Registers the members of a group with the allocator until `close`; they must hold nothing at
  // either call.
  void open(const SequenceGroup& group);
  void close(const SequenceGroup& group);

  // Allocates room for the first `length` tokens of a new or recomputed group. Returns the context
  // found cached, or nullopt, in which case nothing changes.
  std::optional<std::int64_t> admit(const SequenceGroup& group, std::int64_t length);

  // Allocates room for [context, length) of one member. If false, nothing changes.
  bool grow(const SequenceGroup& group, std::size_t member, std::int64_t context,
            std::int64_t length);

  // Appends one block to each of these sequences, whose blocks must be full; `wanted` of the new
  // slots will hold tokens. All or nothing.
  bool append_blocks(std::span<const SequenceId> sequences, TokenCount wanted);

  // Gives a further member the first `length` tokens of another one.
  void share(const SequenceGroup& group, std::size_t parent, std::size_t child,
             std::int64_t length);

  // Replaces a beam of `context` tokens by a fork of another one.
  void replace(const SequenceGroup& group, std::size_t parent, std::size_t child,
               std::int64_t context);

  // Records that one member computed [before, after) in slots that it holds.
  void write(std::int64_t before, std::int64_t after) {
    account_.write(TokenCount(before), TokenCount(after));
  }
  void write_one_each(std::int64_t sequences, std::int64_t beyond_window) {
    account_.write_one_each(sequences, beyond_window);
  }

  bool finds_prefixes() const { return finds_prefixes_; }
  void commit(const SequenceGroup& group, std::size_t member, std::int64_t context) {
    if (!finds_prefixes_) return;
    allocator_.commit(group.members[member], TokenCount(context));
  }

  // Releases all slots of the member; `context` is its number of computed tokens.
  void release(const SequenceGroup& group, std::size_t member, std::int64_t context);

  // Allocates room for a swapped group. Its tokens count as written after `finish_restore`.
  bool restore(const SequenceGroup& group, TokenCount spare);
  void finish_restore(const SequenceGroup& group);

  // The slots that a swapped group holds on the host while the first `context` tokens of its
  // members are there; shared slots count once.
  PoolStates parked_states(const SequenceGroup& group, std::int64_t context) const;

  // Returns all states; checks that they sum to the pool and agree with the allocator. O(1).
  PoolStates states(const PoolCounts& counts) const;

  Allocator& allocator() { return allocator_; }
  const Allocator& allocator() const { return allocator_; }
  // Slots copied on the device since the last call.
  TokenCount take_copied_slots();

 private:
  void count_copy(const Growth& growth);

  template <typename Visit>
  void visit_unique_blocks(const SequenceGroup& group, Visit visit) const;

  Allocator& allocator_;
  Counters& counters_;
  bool finds_prefixes_;  // whether the allocator needs to know which tokens are computed
  TokenCount window_;
  PoolAccount account_;
  TokenCount copied_;
};

}  // namespace recto::sim
