#include "experiments/report/watched_allocator.h"

#include <algorithm>
#include <utility>

#include "core/contract.h"
#include "cuda/cache/block_manager.h"
#include "sim/allocators/contiguous_allocator.h"
#include "sim/allocators/prefix_cached_allocator.h"

namespace recto::experiments {

using sim::SequenceId;
using Kind = PlaceChange::Kind;

WatchedAllocator::WatchedAllocator(std::unique_ptr<sim::Allocator> inner)
    : inner_(std::move(inner)),
      paged_(dynamic_cast<const sim::PagedAllocator*>(inner_.get())),
      managed_(dynamic_cast<const verify::ManagedAllocator*>(inner_.get())) {
  RECTO_CHECK_EQ(paged_ != nullptr || managed_ != nullptr, inner_->is_paged());
  if (!is_paged()) return;
  const std::int64_t blocks = inner_->counts().pool.value() / inner_->block_size().value();
  has_content_.resize(static_cast<std::size_t>(blocks));
  holders_of_.resize(static_cast<std::size_t>(blocks));
}

std::vector<PlaceChange> WatchedAllocator::take_changes() { return std::exchange(changes_, {}); }

bool WatchedAllocator::is_cached(BlockId block) const {
  if (managed_ != nullptr) {
    const cache::BlockState state = managed_->manager().block(block).state;
    return state == cache::BlockState::kEvictable || state == cache::BlockState::kPinned;
  }
  const auto* caching = dynamic_cast<const sim::PrefixCachedAllocator*>(paged_);
  return caching != nullptr && caching->is_evictable(block);
}

std::span<const BlockId> WatchedAllocator::table_now(SequenceId sequence) const {
  return managed_ != nullptr ? managed_->block_table(sequence) : paged_->block_table(sequence);
}

PlaceChange WatchedAllocator::change(Kind kind, SequenceId sequence) {
  const sim::SequenceSpec& spec = holder(sequence).spec;
  PlaceChange change;
  change.kind = kind;
  change.sequence = sequence;
  change.request_id = spec.request->id;
  change.member = spec.member;
  change.final_context = spec.request->final_context().value();
  return change;
}

void WatchedAllocator::note_table(SequenceId sequence, std::size_t from, std::int64_t hits) {
  const std::span<const BlockId> now = table_now(sequence);
  std::vector<BlockId>& before = holder(sequence).table;
  for (std::size_t entry = from; entry < now.size(); ++entry) {
    const bool is_replaced = entry < before.size();
    if (is_replaced && before[entry] == now[entry]) continue;
    PlaceChange taken = change(Kind::kTaken, sequence);
    taken.index = static_cast<std::int64_t>(entry);
    taken.begin = now[entry].value();
    taken.was_copied = is_replaced;
    const auto block = static_cast<std::size_t>(taken.begin);
    taken.was_evicted = taken.index >= hits && holders_of_[block] == 0 && has_content_[block] != 0;
    has_content_[block] = 0;
    ++holders_of_[block];
    changes_.push_back(taken);
    if (!is_replaced) continue;
    // Left after the copy is taken: a sequence that has a single block stays where it is.
    PlaceChange left = change(Kind::kLeft, sequence);
    left.index = taken.index;
    left.begin = before[entry].value();
    --holders_of_[static_cast<std::size_t>(left.begin)];
    changes_.push_back(left);
  }
  before.assign(now.begin(), now.end());
}

void WatchedAllocator::note_region(SequenceId sequence) {
  const auto& contiguous = dynamic_cast<const sim::ContiguousAllocator&>(*inner_);
  const sim::Region region = contiguous.region(sequence);
  if (region.size == 0) return;
  PlaceChange taken = change(Kind::kTaken, sequence);
  taken.begin = region.begin;
  taken.size = region.size;
  changes_.push_back(taken);
}

void WatchedAllocator::open(SequenceId sequence, const sim::SequenceSpec& spec) {
  const auto position = static_cast<std::size_t>(sequence.value());
  if (position >= holders_.size()) holders_.resize(position + 1);
  holders_[position] = {.spec = spec, .table = {}};
  inner_->open(sequence, spec);
}

std::optional<sim::Growth> WatchedAllocator::admit(std::span<const SequenceId> members,
                                                   TokenCount length) {
  const std::optional<sim::Growth> growth = inner_->admit(members, length);
  if (!growth) return growth;
  if (is_paged()) {
    note_table(members.front(), 0, growth->hit.value() / inner_->block_size().value());
  } else {
    for (const SequenceId member : members) note_region(member);
  }
  return growth;
}

std::optional<sim::Growth> WatchedAllocator::grow(SequenceId sequence, TokenCount context,
                                                  TokenCount length) {
  const std::optional<sim::Growth> growth = inner_->grow(sequence, context, length);
  if (!growth || !is_paged()) return growth;
  const std::size_t first =
      static_cast<std::size_t>(context.value() / inner_->block_size().value());
  note_table(sequence, std::min(first, holder(sequence).table.size()), 0);
  return growth;
}

bool WatchedAllocator::append_blocks(std::span<const SequenceId> sequences) {
  if (!inner_->append_blocks(sequences)) return false;
  for (const SequenceId sequence : sequences) {
    note_table(sequence, holder(sequence).table.size(), 0);
  }
  return true;
}

sim::Growth WatchedAllocator::share(SequenceId parent, SequenceId child, TokenCount length) {
  const sim::Growth growth = inner_->share(parent, child, length);
  if (is_paged()) {
    note_table(child, 0, static_cast<std::int64_t>(holders_of_.size()));
  } else if (growth.copied.value() > 0) {
    PlaceChange filled = change(Kind::kFilled, child);
    filled.begin = dynamic_cast<const sim::ContiguousAllocator&>(*inner_).region(child).begin;
    filled.was_copied = true;
    changes_.push_back(filled);
  }
  return growth;
}

sim::Release WatchedAllocator::release(SequenceId sequence, TokenCount context) {
  if (!is_paged()) {
    const auto& contiguous = dynamic_cast<const sim::ContiguousAllocator&>(*inner_);
    const sim::Region region = contiguous.region(sequence);
    PlaceChange left = change(Kind::kLeft, sequence);
    left.begin = region.begin;
    left.size = region.size;
    left.context = context.value();
    if (region.size > 0) changes_.push_back(left);
    return inner_->release(sequence, context);
  }
  const sim::Release release = inner_->release(sequence, context);
  std::vector<BlockId>& table = holder(sequence).table;
  for (std::size_t entry = 0; entry < table.size(); ++entry) {
    PlaceChange left = change(Kind::kLeft, sequence);
    left.index = static_cast<std::int64_t>(entry);
    left.begin = table[entry].value();
    left.context = context.value();
    const auto block = static_cast<std::size_t>(left.begin);
    if (--holders_of_[block] == 0) has_content_[block] = is_cached(table[entry]) ? 1 : 0;
    changes_.push_back(left);
  }
  table.clear();
  return release;
}

bool WatchedAllocator::restore(std::span<const SequenceId> members, const sim::TableShape& shape,
                               TokenCount spare) {
  if (!inner_->restore(members, shape, spare)) return false;
  for (const SequenceId member : members) {
    if (is_paged()) {
      note_table(member, 0, 0);
    } else {
      note_region(member);
    }
  }
  return true;
}

}  // namespace recto::experiments
