#pragma once

// The allocator and the account in step: whoever moves slots does it here, so that no slot
// changes hands without changing state.

#include <cstdint>
#include <optional>
#include <span>

#include "sim/allocators/allocator.h"
#include "sim/metrics/pool_account.h"
#include "sim/metrics/report.h"
#include "sim/scheduling/group.h"

namespace recto::sim {

class KvHoldings {
 public:
  // All outlive this object. `window` 0: every token stays visible.
  KvHoldings(Allocator& allocator, Counters& counters, TokenCount window);

  // Makes the members of a group known to the allocator, from here to `close`; they hold nothing
  // at either end.
  void open(const Group& group);
  void close(const Group& group);

  // Room for the first `length` tokens of a new or recomputed group; the context that was found
  // cached, or nullopt, which changes nothing.
  std::optional<std::int64_t> admit(const Group& group, std::int64_t length);

  // Room for [context, length) of one member; false changes nothing.
  bool grow(const Group& group, std::size_t member, std::int64_t context, std::int64_t length);

  // One more block for each of these sequences, whose blocks are full; `wanted` of the new slots
  // will hold tokens. All or nothing.
  bool append_blocks(std::span<const SequenceId> sequences, TokenCount wanted);

  // A further member gets the first `length` tokens of another one.
  void share(const Group& group, std::size_t parent, std::size_t child, std::int64_t length);

  // A beam of `context` tokens gives way to a fork of another one.
  void replace(const Group& group, std::size_t parent, std::size_t child, std::int64_t context);

  // One member computed [before, after) in slots that it holds.
  void write(std::int64_t before, std::int64_t after) {
    account_.write(TokenCount(before), TokenCount(after));
  }
  void write_one_each(std::int64_t sequences, std::int64_t beyond_window) {
    account_.write_one_each(sequences, beyond_window);
  }

  bool finds_prefixes() const { return finds_prefixes_; }
  void commit(const Group& group, std::size_t member, std::int64_t context) {
    if (!finds_prefixes_) return;
    allocator_.commit(group.members[member], TokenCount(context));
  }

  // The member holds nothing any more; `context` is what it had computed.
  void release(const Group& group, std::size_t member, std::int64_t context);

  // Room for a swapped group; its tokens count as written once `finish_restore` says so.
  bool restore(const Group& group, TokenCount spare);
  void finish_restore(const Group& group);

  // The slots that a swapped group holds on the host, shared ones once, when the first `context`
  // tokens of its members are there.
  PoolStates parked_states(const Group& group, std::int64_t context) const;

  // All states; checks that they sum to the pool and agree with the allocator. O(1).
  PoolStates states(const PoolCounts& counts) const;

  Allocator& allocator() { return allocator_; }
  const Allocator& allocator() const { return allocator_; }
  // Copies on the device since the last call.
  TokenCount take_copied_slots();

 private:
  void count_copy(const Growth& growth);

  template <typename Visit>
  void visit_unique_blocks(const Group& group, Visit visit) const;

  Allocator& allocator_;
  Counters& counters_;
  bool finds_prefixes_;  // does the allocator want to know what is computed?
  TokenCount window_;
  PoolAccount account_;
  TokenCount copied_;
};

}  // namespace recto::sim
