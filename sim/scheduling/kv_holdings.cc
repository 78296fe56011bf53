#include "sim/scheduling/kv_holdings.h"

#include <algorithm>
#include <utility>

#include "core/contract.h"

namespace recto::sim {

KvHoldings::KvHoldings(Allocator& allocator, Counters& counters, TokenCount window)
    : allocator_(allocator),
      counters_(counters),
      finds_prefixes_(allocator.reuses_prefixes()),
      window_(window),
      account_(window) {}

void KvHoldings::open(const SequenceGroup& group) {
  for (std::size_t member = 0; member < group.members.size(); ++member) {
    allocator_.open(group.members[member],
                    {.request = &group.request, .member = static_cast<std::int32_t>(member)});
  }
}

void KvHoldings::close(const SequenceGroup& group) {
  for (const SequenceId member : group.members) allocator_.close(member);
}

std::optional<std::int64_t> KvHoldings::admit(const SequenceGroup& group, std::int64_t length) {
  const std::optional<Growth> growth = allocator_.admit(group.members, TokenCount(length));
  if (!growth) return std::nullopt;
  const TokenCount final_context = group.request.final_context();
  if (allocator_.is_paged()) {
    account_.hold_written(growth->revived);
    account_.hold(growth->held_before, growth->held_after, final_context);
  } else {
    for (std::size_t i = 0; i < group.members.size(); ++i) {
      account_.hold_region(growth->requested, growth->held_after, final_context);
    }
  }
  return growth->hit.value();
}

bool KvHoldings::grow(const SequenceGroup& group, std::size_t member, std::int64_t context,
                      std::int64_t length) {
  const std::optional<Growth> growth =
      allocator_.grow(group.members[member], TokenCount(context), TokenCount(length));
  if (!growth) return false;
  const TokenCount final_context = group.request.final_context();
  account_.hold(growth->held_before, growth->held_after, final_context);
  if (growth->copied.value() > 0) {
    // The copy of a shared block holds its tokens at once, and has room after them.
    const TokenCount end = TokenCount(context) - growth->copied_context + growth->copied;
    account_.hold_written(growth->copied_context);
    account_.hold(TokenCount(context), end, final_context);
    count_copy(*growth);
  }
  return true;
}

bool KvHoldings::append_blocks(std::span<const SequenceId> sequences, TokenCount wanted) {
  if (!allocator_.append_blocks(sequences)) return false;
  const auto blocks = static_cast<std::int64_t>(sequences.size());
  account_.hold(TokenCount(0), allocator_.block_size() * blocks, wanted);
  return true;
}

void KvHoldings::share(const SequenceGroup& group, std::size_t parent, std::size_t child,
                       std::int64_t length) {
  const Growth growth =
      allocator_.share(group.members[parent], group.members[child], TokenCount(length));
  if (allocator_.is_paged()) return;
  account_.write(TokenCount(0), growth.copied_context);
  count_copy(growth);
}

void KvHoldings::replace(const SequenceGroup& group, std::size_t parent, std::size_t child,
                         std::int64_t context) {
  if (allocator_.is_paged()) {
    release(group, child, context);
    share(group, parent, child, context);
    return;
  }
  // The region stays and is overwritten.
  count_copy(allocator_.share(group.members[parent], group.members[child], TokenCount(context)));
}

void KvHoldings::count_copy(const Growth& growth) {
  copied_ += growth.copied;
  counters_.copied_slots += growth.copied.value();
}

void KvHoldings::release(const SequenceGroup& group, std::size_t member, std::int64_t context) {
  const Release release = allocator_.release(group.members[member], TokenCount(context));
  if (release.held.value() == 0) return;
  const TokenCount final_context = group.request.final_context();
  if (allocator_.is_paged()) {
    account_.release(release.held, TokenCount(context), final_context, release.kept,
                     release.kept_open);
  } else {
    account_.release_region(release.requested, release.held, TokenCount(context), final_context);
  }
}

// Visits [begin, end) of each physical block once, at the logical position of its first holder.
template <typename Visit>
void KvHoldings::visit_unique_blocks(const SequenceGroup& group, Visit visit) const {
  const std::int64_t block_size = allocator_.block_size().value();
  std::vector<bool> seen(static_cast<std::size_t>(group.parked->block_count));
  for (const std::vector<std::int32_t>& entries : group.parked->entries) {
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const auto number = static_cast<std::size_t>(entries[i]);
      if (seen[number]) continue;
      seen[number] = true;
      const auto begin = static_cast<std::int64_t>(i) * block_size;
      visit(begin, begin + block_size);
    }
  }
}

bool KvHoldings::restore(const SequenceGroup& group, TokenCount spare) {
  if (!allocator_.restore(group.members, *group.parked, spare)) return false;
  const TokenCount final_context = group.request.final_context();
  if (!allocator_.is_paged()) {
    RECTO_UNREACHABLE("regions are never preempted: each holds all that it will need");
  }
  visit_unique_blocks(group, [&](std::int64_t begin, std::int64_t end) {
    account_.hold(TokenCount(begin), TokenCount(end), final_context);
  });
  return true;
}

void KvHoldings::finish_restore(const SequenceGroup& group) {
  allocator_.finish_restore(group.members, TokenCount(group.context));
  visit_unique_blocks(group, [&](std::int64_t begin, std::int64_t end) {
    const std::int64_t written = std::clamp(group.context, begin, end);
    account_.write(TokenCount(begin), TokenCount(written));
  });
}

PoolStates KvHoldings::parked_states(const SequenceGroup& group, std::int64_t context) const {
  PoolAccount account(window_);
  visit_unique_blocks(group, [&](std::int64_t begin, std::int64_t end) {
    account.hold(TokenCount(begin), TokenCount(end), group.request.final_context());
    account.write(TokenCount(begin), TokenCount(std::clamp(context, begin, end)));
  });
  return account.held();
}

PoolStates KvHoldings::states(const PoolCounts& counts) const {
  PoolStates states = account_.held();
  RECTO_CHECK_EQ(states.held(), counts.held);
  states.cached = counts.cached;
  states.free = counts.free;
  states.overhead = counts.overhead;
  RECTO_CHECK_EQ(states.sum(), counts.pool);
  return states;
}

TokenCount KvHoldings::take_copied_slots() { return std::exchange(copied_, TokenCount(0)); }

}  // namespace recto::sim
