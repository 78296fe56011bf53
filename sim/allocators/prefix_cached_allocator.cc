#include "sim/allocators/prefix_cached_allocator.h"

#include <algorithm>

#include "core/contract.h"

namespace recto::sim {

PrefixCachedAllocator::PrefixCachedAllocator(const PagedOptions& options)
    : PagedAllocator(options),
      states_(static_cast<std::size_t>(options.pool_slots.value() / options.block_size.value())) {}

void PrefixCachedAllocator::open(SequenceId sequence, const SequenceSpec& spec) {
  PagedAllocator::open(sequence, spec);
  const auto position = static_cast<std::size_t>(sequence.value());
  if (position >= hashes_.size()) {
    hashes_.resize(position + 1);
    committed_.resize(position + 1);
  }
  hashes_[position] = TokenHashes(spec.request, spec.member, block_size());
  committed_[position] = 0;
}

// The last token is always computed, even if its block is cached, because its output is needed.
PrefixCachedAllocator::Hits PrefixCachedAllocator::find_hits(SequenceId sequence,
                                                             TokenCount length) const {
  TokenHashes& hashes = hashes_[static_cast<std::size_t>(sequence.value())];
  const std::int64_t most = (length.value() - 1) / block_size().value();
  Hits hits;
  while (hits.count < most) {
    const auto found = block_of_hash_.find(hashes.at(hits.count));
    if (found == block_of_hash_.end()) break;
    if (is_evictable(found->second)) ++hits.evictable;
    ++hits.count;
  }
  return hits;
}

TokenCount PrefixCachedAllocator::cached_prefix(SequenceId sequence, TokenCount length) const {
  return TokenCount(slots(find_hits(sequence, length).count));
}

// A hit without a holder needs no new block, but cannot be evicted for the other blocks either.
Fit PrefixCachedAllocator::fit(std::span<const SequenceId> members, TokenCount length,
                               TokenCount spare) const {
  const Hits hits = find_hits(members.front(), length);
  const std::int64_t needed =
      blocks_for(length) - hits.count + hits.evictable + own_blocks_of_others(members, length);
  return needed + blocks_for(spare) <= available() ? Fit::kFits : Fit::kShort;
}

std::optional<Growth> PrefixCachedAllocator::admit(std::span<const SequenceId> members,
                                                   TokenCount length) {
  const SequenceId leader = members.front();
  const Hits hits = find_hits(leader, length);
  const std::int64_t needed = blocks_for(length) - hits.count;
  if (needed + hits.evictable > available()) return std::nullopt;

  TokenHashes& hashes = hashes_[static_cast<std::size_t>(leader.value())];
  std::vector<BlockId>& table = holder(leader).table;
  for (std::int64_t i = 0; i < hits.count; ++i) {
    const BlockId block = block_of_hash_.find(hashes.at(i))->second;
    if (is_evictable(block)) {
      unlink_evictable(block);
      table.push_back(block);
    } else {
      share_block(table, block);
    }
  }
  committed_[static_cast<std::size_t>(leader.value())] = hits.count;
  take(needed, table);
  return Growth{.held_before = TokenCount(slots(hits.count)),
                .held_after = TokenCount(slots(hits.count + needed)),
                .revived = TokenCount(slots(hits.evictable)),
                .hit = TokenCount(slots(hits.count))};
}

// If two blocks have equal content, lookups keep finding the first.
void PrefixCachedAllocator::commit(SequenceId sequence, TokenCount context) {
  const auto position = static_cast<std::size_t>(sequence.value());
  const std::vector<BlockId>& table = holder(sequence).table;
  std::int64_t& committed = committed_[position];
  for (; slots(committed + 1) <= context.value(); ++committed) {
    const BlockId block = table[static_cast<std::size_t>(committed)];
    if (state(block).is_cached) continue;
    const std::uint64_t hash = hashes_[position].at(committed);
    if (!block_of_hash_.try_emplace(hash, block).second) continue;
    state(block).hash = hash;
    state(block).is_cached = true;
  }
}

// The child has the blocks that the parent has committed: sharing does not make a block findable if
// a block with equal content was committed first.
Growth PrefixCachedAllocator::share(SequenceId parent, SequenceId child, TokenCount length) {
  committed_[static_cast<std::size_t>(child.value())] =
      std::min(committed_[static_cast<std::size_t>(parent.value())], full_blocks(length));
  return PagedAllocator::share(parent, child, length);
}

Release PrefixCachedAllocator::release(SequenceId sequence, TokenCount context) {
  committed_[static_cast<std::size_t>(sequence.value())] = 0;
  return PagedAllocator::release(sequence, context);
}

void PrefixCachedAllocator::take(std::int64_t count, std::vector<BlockId>& table) {
  const std::int64_t fresh = std::min(count, free_.size());
  PagedAllocator::take(fresh, table);
  for (count -= fresh; count > 0; --count) {
    const BlockId victim(oldest_);
    unlink_evictable(victim);
    forget(victim);
    table.push_back(victim);
  }
}

void PrefixCachedAllocator::drop(std::span<const BlockId> blocks) {
  for (auto block = blocks.rbegin(); block != blocks.rend(); ++block) {
    if (state(*block).is_cached) {
      append_evictable(*block);
    } else {
      free_.give({&*block, 1});
    }
  }
}

void PrefixCachedAllocator::append_evictable(BlockId block) {
  state(block).older = newest_;
  state(block).newer = kNone;
  (newest_ == kNone ? oldest_ : states_[static_cast<std::size_t>(newest_)].newer) = block.value();
  newest_ = block.value();
  state(block).is_evictable = true;
  ++evictable_;
}

void PrefixCachedAllocator::unlink_evictable(BlockId block) {
  BlockState& out = state(block);
  (out.older == kNone ? oldest_ : states_[static_cast<std::size_t>(out.older)].newer) = out.newer;
  (out.newer == kNone ? newest_ : states_[static_cast<std::size_t>(out.newer)].older) = out.older;
  out.is_evictable = false;
  --evictable_;
}

void PrefixCachedAllocator::forget(BlockId block) {
  block_of_hash_.erase(state(block).hash);
  state(block).is_cached = false;
}

std::string PrefixCachedAllocator::describe() const {
  return PagedAllocator::describe() + ", prefix cache";
}

}  // namespace recto::sim
