#include "experiments/report/block_history.h"

#include <algorithm>
#include <utility>

#include "core/contract.h"

namespace recto::experiments {

namespace {

constexpr std::size_t kSegmentsMax = 40'000;

template <typename Item>
Item& grown_to(std::vector<Item>& items, std::int64_t index) {
  const auto position = static_cast<std::size_t>(index);
  if (position >= items.size()) items.resize(position + 1);
  return items[position];
}

}  // namespace

BlockHistory::BlockHistory(const WatchedAllocator& allocator, SimTime begin, SimDuration tick)
    : allocator_(allocator), begin_(begin), tick_(tick) {
  detail_.begin = begin;
}

BlockHistory::Open& BlockHistory::open(sim::SequenceId sequence) {
  return grown_to(open_, sequence.value());
}

BlockHistory::Place& BlockHistory::place(const PlaceChange& change) {
  return grown_to(places_, allocator_.is_paged() ? change.begin : change.sequence.value());
}

void BlockHistory::cut(Place& place, SimTime now) {
  const bool is_seen = !is_closed_ && now > begin_ && now > place.since;
  if (is_seen && (!place.holders.empty() || place.is_cached)) {
    MapSegment segment{.place = place.begin,
                       .size = place.size,
                       .begin = place.since,
                       .end = now,
                       .index = place.index,
                       .references = place.references};
    if (!place.holders.empty()) {
      Open& holder = open(place.holders.front());
      if (holder.stored < 0) {
        holder.stored = static_cast<std::int32_t>(detail_.stays.size());
        detail_.stays.push_back(holder.stay);
      }
      segment.stay = holder.stored;
    }
    detail_.segments.push_back(segment);
  }
  place.since = now;
  place.references = static_cast<std::int32_t>(place.holders.size());
  place.is_cached = false;
}

void BlockHistory::take(const PlaceChange& change, SimTime now) {
  Open& mine = open(change.sequence);
  if (mine.places++ == 0) {
    mine = {};
    mine.places = 1;
    mine.stay.request_id = change.request_id;
    mine.stay.member = change.member;
    mine.stay.final_context = change.final_context;
    mine.stay.begin = now;
    ++not_decoding_;
  }
  Place& taken = place(change);
  const bool is_first = taken.holders.empty();
  if (is_first || now - taken.since >= tick_) cut(taken, now);
  if (is_first) {
    taken.begin = change.begin;
    taken.size = change.size;
    taken.index = change.index;
  }
  taken.holders.push_back(change.sequence);
  taken.references = std::max(taken.references, static_cast<std::int32_t>(taken.holders.size()));
}

void BlockHistory::leave(const PlaceChange& change, SimTime now) {
  Open& mine = open(change.sequence);
  RECTO_CHECK_GT(mine.places, 0);
  Place& left = place(change);
  const auto found = std::ranges::find(left.holders, change.sequence);
  RECTO_CHECK(found != left.holders.end());
  const bool was_shown = found == left.holders.begin();
  if (was_shown || now - left.since >= tick_) cut(left, now);
  left.holders.erase(found);
  left.references = std::max(static_cast<std::int32_t>(left.holders.size()),
                             left.since == now ? 0 : left.references);
  if (left.holders.empty()) {
    left.is_cached = allocator_.is_evictable(BlockId(static_cast<std::int32_t>(change.begin)));
  }
  if (--mine.places == 0) end_stay(mine, change.context, now);
}

void BlockHistory::end_stay(Open& stay, std::int64_t context, SimTime now) {
  if (!stay.decodes) {
    --not_decoding_;
    stay.stay.decode = now;
    stay.stay.context_decode = context;
  }
  stay.stay.end = now;
  stay.stay.context_end = context;
  if (stay.stored >= 0) detail_.stays[static_cast<std::size_t>(stay.stored)] = stay.stay;
  stay = {};
}

// Notes when sequences start to decode: prefill steps take longer, and the reader must know from
// which time on tokens come evenly.
void BlockHistory::note_decoding(const sim::Scheduler& scheduler, SimTime now) {
  for (const sim::SequenceGroup* group : scheduler.holders()) {
    for (std::size_t i = 0; i < group->members.size(); ++i) {
      Open& mine = open(group->members[i]);
      if (mine.places == 0 || mine.decodes) continue;
      const std::int64_t context = scheduler.context(*group, i);
      if (mine.stay.begin == now) mine.stay.context_begin = context;
      if (group->phase != sim::SequenceGroupPhase::kDecoding) continue;
      mine.decodes = true;
      mine.stay.decode = now;
      mine.stay.context_decode = context;
      --not_decoding_;
    }
  }
}

void BlockHistory::apply(const std::vector<PlaceChange>& changes, const sim::Scheduler& scheduler,
                         SimTime now) {
  if (is_closed_) return;
  for (const PlaceChange& change : changes) {
    if (change.kind == PlaceChange::Kind::kTaken) take(change, now);
    if (change.kind == PlaceChange::Kind::kLeft) leave(change, now);
    if (now < begin_) continue;
    if (change.was_copied) detail_.events.push_back({now, change.begin, MapMark::kCopied});
    if (change.was_evicted) detail_.events.push_back({now, change.begin, MapMark::kEvicted});
  }
  if (not_decoding_ > 0) note_decoding(scheduler, now);
  if (detail_.segments.size() < kSegmentsMax) return;
  note_unfinished(scheduler, now);
  close(now);
}

// Stretches that continue beyond the last one are shown up to this point.
void BlockHistory::note_unfinished(const sim::Scheduler& scheduler, SimTime now) {
  for (const sim::SequenceGroup* group : scheduler.holders()) {
    for (std::size_t i = 0; i < group->members.size(); ++i) {
      Open& mine = open(group->members[i]);
      mine.stay.end = now;
      mine.stay.context_end = scheduler.context(*group, i);
      mine.stay.how = MapStay::End::kGoesOn;
      if (mine.decodes) continue;
      mine.stay.decode = now;
      mine.stay.context_decode = mine.stay.context_end;
    }
  }
}

void BlockHistory::close(SimTime now) {
  for (Place& one : places_) cut(one, now);
  for (Open& mine : open_) {
    if (mine.places == 0) continue;
    if (mine.stored >= 0) detail_.stays[static_cast<std::size_t>(mine.stored)] = mine.stay;
  }
  is_closed_ = true;
  detail_.begin = std::min(detail_.begin, now);  // a run that ends before has no such part
  detail_.end = now;
}

MapDetail BlockHistory::finish(SimTime now) {
  if (!is_closed_) close(now);
  return std::move(detail_);
}

}  // namespace recto::experiments
