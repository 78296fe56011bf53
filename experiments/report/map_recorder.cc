#include "experiments/report/map_recorder.h"

#include <algorithm>
#include <utility>

#include "core/contract.h"

namespace recto::experiments {

std::unique_ptr<sim::Allocator> MapRecorder::watch(std::unique_ptr<sim::Allocator> allocator) {
  RECTO_CHECK(allocator_ == nullptr);
  auto watched = std::make_unique<WatchedAllocator>(std::move(allocator));
  allocator_ = watched.get();
  map_.pool_slots = allocator_->counts().pool.value();
  map_.block_size = allocator_->block_size().value();
  map_.blocks = allocator_->is_paged() ? map_.pool_slots / map_.block_size : 0;
  map_.null_blocks = options_.null_blocks;
  map_.window = options_.window;
  map_.rows = std::min(options_.rows_max, map_.blocks > 0 ? map_.blocks : map_.pool_slots);
  picture_.emplace(*allocator_, map_.rows, options_.window);
  // 1/4096 of the whole run.
  const SimDuration tick((options_.end - SimTime()).value() / 4096 + 1);
  history_.emplace(*allocator_, BlockHistoryOptions{.begin = options_.detail_begin,
                                                    .segments_max = options_.segments_max,
                                                    .tick = tick});
  return watched;
}

void MapRecorder::on_preempted(const sim::Group& group, sim::PreemptionKind kind, SimTime) {
  ++marks_[static_cast<std::size_t>(MapMark::kPreempted)];
  const MapStay::End how =
      kind == sim::PreemptionKind::kSwap ? MapStay::End::kSwap : MapStay::End::kRecompute;
  for (const sim::SequenceId member : group.members) history_->expect(member, how);
}

void MapRecorder::on_gauges(const sim::GaugeValues& gauges, const sim::Scheduler& scheduler,
                            SimTime now) {
  const std::vector<PlaceChange> changes = allocator_->take_changes();
  for (const PlaceChange& change : changes) {
    if (change.was_copied) ++marks_[static_cast<std::size_t>(MapMark::kCopied)];
    if (change.was_evicted) ++marks_[static_cast<std::size_t>(MapMark::kEvicted)];
  }
  history_->apply(changes, scheduler, now);
  now_ = now;
  // Column k is the pool at the first event at or after k / columns of the run.
  const double length = static_cast<double>((options_.end - SimTime()).value());
  const double share = length > 0 ? static_cast<double>((now - SimTime()).value()) / length : 1;
  const auto column = static_cast<std::int64_t>(share * static_cast<double>(options_.columns));
  if (column < next_column_) return;
  map_.columns.push_back({.at = now, .cells = picture_->take(scheduler, gauges), .marks = marks_});
  marks_ = {};
  next_column_ = column + 1;
}

MemoryMap MapRecorder::finish() {
  RECTO_CHECK(history_.has_value());
  if (!map_.columns.empty()) {
    for (std::size_t i = 0; i < kMapMarkCount; ++i) map_.columns.back().marks[i] += marks_[i];
  }
  map_.end = now_;
  map_.detail = history_->finish(now_);
  return std::move(map_);
}

}  // namespace recto::experiments
