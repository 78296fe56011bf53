#include "experiments/report/watched_allocator.h"

#include <algorithm>
#include <utility>

namespace recto::experiments {

using sim::SequenceId;
using Kind = PlaceChange::Kind;

WatchedAllocator::WatchedAllocator(std::unique_ptr<sim::Allocator> inner)
    : inner_(std::move(inner)) {
  // A region's place is its first slot, and regions have blocks of 1.
  const std::int64_t places = inner_->counts().pool.value() / inner_->block_size().value();
  has_content_.resize(static_cast<std::size_t>(places));
  holders_of_.resize(static_cast<std::size_t>(places));
}

std::vector<PlaceChange> WatchedAllocator::take_changes() { return std::exchange(changes_, {}); }

std::int64_t WatchedAllocator::place_slots(SequenceId sequence) const {
  return is_paged() ? block_size().value() : region(sequence).size;
}

std::vector<std::int64_t> WatchedAllocator::places_now(SequenceId sequence) const {
  if (!is_paged()) {
    const sim::Region region = inner_->region(sequence);
    return std::vector<std::int64_t>(region.size > 0 ? 1 : 0, region.begin);
  }
  std::vector<std::int64_t> blocks;
  for (const BlockId block : inner_->block_table(sequence)) blocks.push_back(block.value());
  return blocks;
}

PlaceChange& WatchedAllocator::change(Kind kind, SequenceId sequence, std::size_t index,
                                      std::int64_t begin) {
  const sim::SequenceSpec& spec = holder(sequence).spec;
  PlaceChange& change = changes_.emplace_back();
  change.kind = kind;
  change.sequence = sequence;
  change.request_id = spec.request->id;
  change.member = spec.member;
  change.final_context = spec.request->final_context().value();
  change.index = static_cast<std::int64_t>(index);
  change.begin = begin;
  return change;
}

void WatchedAllocator::note(SequenceId sequence, std::size_t from, std::int64_t hits) {
  std::vector<std::int64_t> now = places_now(sequence);
  std::vector<std::int64_t>& before = holder(sequence).places;
  for (std::size_t entry = from; entry < now.size(); ++entry) {
    const bool is_replaced = entry < before.size();
    if (is_replaced && before[entry] == now[entry]) continue;
    PlaceChange& taken = change(Kind::kTaken, sequence, entry, now[entry]);
    if (!is_paged()) taken.size = inner_->region(sequence).size;
    taken.was_copied = is_replaced;
    const auto place = static_cast<std::size_t>(taken.begin);
    taken.was_evicted = taken.index >= hits && holders_of_[place] == 0 && has_content_[place] != 0;
    has_content_[place] = 0;
    ++holders_of_[place];
    if (!is_replaced) continue;
    // Recorded after the copy is taken, so that a sequence with a single block does not end its
    // stay.
    change(Kind::kLeft, sequence, entry, before[entry]);
    --holders_of_[static_cast<std::size_t>(before[entry])];
  }
  before = std::move(now);
}

void WatchedAllocator::open(SequenceId sequence, const sim::SequenceSpec& spec) {
  const auto position = static_cast<std::size_t>(sequence.value());
  if (position >= holders_.size()) holders_.resize(position + 1);
  holders_[position] = {.spec = spec, .places = {}};
  inner_->open(sequence, spec);
}

std::optional<sim::Growth> WatchedAllocator::admit(std::span<const SequenceId> members,
                                                   TokenCount length) {
  const std::optional<sim::Growth> growth = inner_->admit(members, length);
  if (!growth) return growth;
  const std::int64_t hits = growth->hit.value() / block_size().value();
  // Blocks go to the first member, and others share them later; regions go to each member.
  const std::size_t given = is_paged() ? 1 : members.size();
  for (const SequenceId member : members.first(given)) note(member, 0, hits);
  return growth;
}

std::optional<sim::Growth> WatchedAllocator::grow(SequenceId sequence, TokenCount context,
                                                  TokenCount length) {
  const std::optional<sim::Growth> growth = inner_->grow(sequence, context, length);
  if (!growth) return growth;
  const auto first = static_cast<std::size_t>(context.value() / block_size().value());
  note(sequence, std::min(first, places(sequence).size()), 0);
  return growth;
}

bool WatchedAllocator::append_blocks(std::span<const SequenceId> sequences) {
  if (!inner_->append_blocks(sequences)) return false;
  for (const SequenceId sequence : sequences) note(sequence, places(sequence).size(), 0);
  return true;
}

sim::Growth WatchedAllocator::share(SequenceId parent, SequenceId child, TokenCount length) {
  const sim::Growth growth = inner_->share(parent, child, length);
  note(child, 0, static_cast<std::int64_t>(holders_of_.size()));
  if (!is_paged() && growth.copied.value() > 0) {
    change(Kind::kFilled, child, 0, places(child).front()).was_copied = true;
  }
  return growth;
}

sim::Release WatchedAllocator::release(SequenceId sequence, TokenCount context) {
  const sim::Release release = inner_->release(sequence, context);
  const std::vector<std::int64_t> left = std::exchange(holder(sequence).places, {});
  for (std::size_t entry = 0; entry < left.size(); ++entry) {
    change(Kind::kLeft, sequence, entry, left[entry]).context = context.value();
    const auto place = static_cast<std::size_t>(left[entry]);
    if (--holders_of_[place] == 0) {
      const BlockId block(static_cast<std::int32_t>(left[entry]));
      has_content_[place] = is_evictable(block) ? 1 : 0;
    }
  }
  return release;
}

bool WatchedAllocator::restore(std::span<const SequenceId> members, const sim::TableShape& shape,
                               TokenCount spare) {
  if (!inner_->restore(members, shape, spare)) return false;
  for (const SequenceId member : members) note(member, 0, 0);
  return true;
}

}  // namespace recto::experiments
