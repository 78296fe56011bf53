#include "experiments/report/block_history.h"

#include <algorithm>
#include <utility>

#include "core/contract.h"

namespace recto::experiments {

BlockHistory::BlockHistory(const WatchedAllocator& allocator, const BlockHistoryOptions& options)
    : allocator_(allocator), is_paged_(allocator.is_paged()), options_(options) {
  detail_.begin = options.begin;
  if (!is_paged_) return;
  const std::int64_t blocks = allocator.counts().pool.value() / allocator.block_size().value();
  places_.resize(static_cast<std::size_t>(blocks));
}

BlockHistory::Open& BlockHistory::open(sim::SequenceId sequence) {
  const auto position = static_cast<std::size_t>(sequence.value());
  if (position >= open_.size()) open_.resize(position + 1);
  return open_[position];
}

void BlockHistory::expect(sim::SequenceId sequence, MapStay::End how) { open(sequence).how = how; }

void BlockHistory::store(MapSegment segment, Open* holder, SimTime now) {
  segment.end = now;
  if (is_closed_ || segment.end <= options_.begin || segment.begin == segment.end) return;
  if (holder != nullptr && holder->stored < 0) {
    holder->stored = static_cast<std::int32_t>(detail_.stays.size());
    detail_.stays.push_back(holder->stay);
  }
  segment.stay = holder == nullptr ? -1 : holder->stored;
  detail_.segments.push_back(segment);
}

void BlockHistory::store_region(Open& holder, SimTime now) {
  MapSegment region;
  region.place = holder.region_begin;
  region.size = holder.region_size;
  region.begin = holder.stay.begin;
  store(region, &holder, now);
}

void BlockHistory::cut(std::int64_t block, SimTime now) {
  Place& place = places_[static_cast<std::size_t>(block)];
  if (!place.holders.empty() || place.is_cached) {
    MapSegment segment;
    segment.place = block;
    segment.begin = place.since;
    segment.index = place.index;
    segment.references = place.references;
    store(segment, place.holders.empty() ? nullptr : &open(place.holders.front()), now);
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
    mine.region_begin = change.begin;
    mine.region_size = change.size;
    ++not_decoding_;
  }
  if (!is_paged_) return;
  Place& place = places_[static_cast<std::size_t>(change.begin)];
  const bool is_first = place.holders.empty();
  if (is_first || now - place.since >= options_.tick) cut(change.begin, now);
  if (is_first) place.index = change.index;
  place.holders.push_back(change.sequence);
  place.references = std::max(place.references, static_cast<std::int32_t>(place.holders.size()));
}

void BlockHistory::leave(const PlaceChange& change, SimTime now) {
  Open& mine = open(change.sequence);
  RECTO_CHECK_GT(mine.places, 0);
  if (!is_paged_) {
    store_region(mine, now);
  } else {
    Place& place = places_[static_cast<std::size_t>(change.begin)];
    const auto found = std::ranges::find(place.holders, change.sequence);
    RECTO_CHECK(found != place.holders.end());
    const bool was_shown = found == place.holders.begin();
    if (was_shown || now - place.since >= options_.tick) cut(change.begin, now);
    place.holders.erase(std::ranges::find(place.holders, change.sequence));
    place.references = std::max(static_cast<std::int32_t>(place.holders.size()),
                                place.since == now ? 0 : place.references);
    if (place.holders.empty()) {
      place.is_cached = allocator_.is_evictable(BlockId(static_cast<std::int32_t>(change.begin)));
    }
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
  stay.stay.how = stay.how;
  if (stay.stored >= 0) detail_.stays[static_cast<std::size_t>(stay.stored)] = stay.stay;
  stay = {};
}

// Notes when sequences start to decode: prefill steps take longer, and a reader must know from when
// on tokens come evenly.
void BlockHistory::note_decoding(const sim::Scheduler& scheduler, SimTime now) {
  for (const sim::Group* group : scheduler.holders()) {
    for (std::size_t i = 0; i < group->members.size(); ++i) {
      Open& mine = open(group->members[i]);
      if (mine.places == 0 || mine.decodes) continue;
      const std::int64_t context = scheduler.context(*group, i);
      if (mine.stay.begin == now) mine.stay.context_begin = context;
      if (group->phase != sim::GroupPhase::kDecoding) continue;
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
    if (now < options_.begin) continue;
    if (change.was_copied) detail_.events.push_back({now, change.begin, MapMark::kCopied});
    if (change.was_evicted) detail_.events.push_back({now, change.begin, MapMark::kEvicted});
  }
  if (not_decoding_ > 0) note_decoding(scheduler, now);
  if (detail_.segments.size() < options_.segments_max) return;
  note_unfinished(scheduler, now);
  close(now);
}

// What continues beyond the last stretch is shown up to this point.
void BlockHistory::note_unfinished(const sim::Scheduler& scheduler, SimTime now) {
  for (const sim::Group* group : scheduler.holders()) {
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
  for (std::size_t block = 0; block < places_.size(); ++block) {
    cut(static_cast<std::int64_t>(block), now);
  }
  for (Open& mine : open_) {
    if (mine.places == 0) continue;
    if (!is_paged_) store_region(mine, now);
    if (mine.stored >= 0) detail_.stays[static_cast<std::size_t>(mine.stored)] = mine.stay;
  }
  is_closed_ = true;
  detail_.begin = std::min(detail_.begin, now);  // a run that is over by then has no such part
  detail_.end = now;
}

MapDetail BlockHistory::finish(SimTime now) {
  if (!is_closed_) close(now);
  return std::move(detail_);
}

}  // namespace recto::experiments
