#include "experiments/report/map_recorder.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "experiments/report/block_history.h"
#include "experiments/report/pool_picture.h"
#include "experiments/report/series_data.h"
#include "experiments/report/watched_allocator.h"
#include "experiments/support/request_source.h"
#include "experiments/support/resolved_run.h"
#include "sim/simulator.h"

namespace recto::experiments {
namespace {

constexpr std::int64_t kColumns = 720;
constexpr std::int64_t kRowsMax = 160;
constexpr std::int64_t kCloseColumns = 400;  // a minute

MemoryMap empty_map(const WatchedAllocator& allocator, const ResolvedRun& run) {
  MemoryMap map;
  map.pool_slots = allocator.counts().pool.value();
  map.block_size = allocator.block_size().value();
  map.blocks = allocator.is_paged() ? map.pool_slots / map.block_size : 0;
  map.null_blocks = allocator.is_paged() ? run.config.null_blocks : 0;
  map.window = run.options.scheduler.window.value();
  map.rows = std::min(kRowsMax, map.blocks > 0 ? map.blocks : map.pool_slots);
  return map;
}

RowState most_frequent(const MapCell& cell) {
  const int free = 15 - cell.used - cell.reserved - cell.internal - cell.cached;
  const std::array<int, 5> shares{cell.used, cell.reserved, cell.internal, cell.cached, free};
  return static_cast<RowState>(std::ranges::max_element(shares) - shares.begin());
}

// The run ends at `end`.
class MapRecorder final : public sim::SimulationObserver {
 public:
  MapRecorder(WatchedAllocator& allocator, const ResolvedRun& run, SimTime end, SimTime begin,
              SingleBlocks single_blocks)
      : allocator_(allocator),
        map_(empty_map(allocator, run)),
        length_(static_cast<double>((end - SimTime()).value())) {
    map_.close_look.begin = begin;
    const SimDuration tick((end - SimTime()).value() / 4096 + 1);
    if (single_blocks == SingleBlocks::kWholeRunIfFew) {
      histories_.emplace_back(allocator, SimTime(), tick);
    }
    histories_.emplace_back(allocator, begin, tick);
  }

  void on_preempted(const sim::SequenceGroup& group, sim::PreemptionKind kind, SimTime) override {
    ++marks_[static_cast<std::size_t>(MapMark::kPreempted)];
    const MapStay::End how =
        kind == sim::PreemptionKind::kSwap ? MapStay::End::kSwap : MapStay::End::kRecompute;
    for (BlockHistory& history : histories_) {
      for (const sim::SequenceId member : group.members) history.expect(member, how);
    }
  }

  void on_gauges(const sim::GaugeValues& gauges, const sim::Scheduler& scheduler,
                 SimTime now) override {
    const std::vector<PlaceChange> changes = allocator_.take_changes();
    for (const PlaceChange& change : changes) {
      if (change.was_copied) ++marks_[static_cast<std::size_t>(MapMark::kCopied)];
      if (change.was_evicted) ++marks_[static_cast<std::size_t>(MapMark::kEvicted)];
    }
    for (BlockHistory& history : histories_) history.apply(changes, scheduler, now);
    now_ = now;
    look_closely(gauges, scheduler);
    // Column k is the pool at the first event at or after k / columns of the run.
    const double share = length_ > 0 ? static_cast<double>((now - SimTime()).value()) / length_ : 1;
    const auto column = static_cast<std::int64_t>(share * static_cast<double>(kColumns));
    if (column < next_column_) return;
    map_.columns.push_back(
        {.at = now, .cells = pool_picture(map_, allocator_, scheduler, gauges), .marks = marks_});
    marks_ = {};
    next_column_ = column + 1;
  }

  // To be called after the run.
  MemoryMap finish() {
    if (!map_.columns.empty()) {
      for (std::size_t i = 0; i < kMapMarkCount; ++i) map_.columns.back().marks[i] += marks_[i];
    }
    map_.end = now_;
    for (BlockHistory& history : histories_) {
      map_.detail = history.finish(now_);
      if (map_.detail.end == now_) break;  // the whole run
    }
    return std::move(map_);
  }

 private:
  // Column k is the pool at the first event at or after its time.
  void look_closely(const sim::GaugeValues& gauges, const sim::Scheduler& scheduler) {
    const std::int64_t since = (now_ - map_.close_look.begin).value();
    if (since < 0) return;
    std::vector<RowState>& states = map_.close_look.states;
    const std::int64_t wanted = std::min(since / kCloseLookStep.value() + 1, kCloseColumns);
    std::int64_t missing = wanted - static_cast<std::int64_t>(states.size()) / map_.rows;
    if (missing <= 0) return;
    const std::vector<MapCell> cells = pool_picture(map_, allocator_, scheduler, gauges);
    for (; missing > 0; --missing)
      std::ranges::transform(cells, std::back_inserter(states), most_frequent);
  }

  WatchedAllocator& allocator_;
  MemoryMap map_;
  std::vector<BlockHistory> histories_;  // the whole run's first
  double length_;
  std::array<std::int64_t, kMapMarkCount> marks_{};
  std::int64_t next_column_ = 0;
  SimTime now_;
};

}  // namespace

Result<MemoryMap> record_map(const RunConfig& config, const sim::Report& report, SimTime begin,
                             SingleBlocks single_blocks) {
  const Result<ResolvedRun> run = resolve(config);
  RECTO_RETURN_IF_ERROR(run.status());
  const Result<std::unique_ptr<sim::TimeModel>> time_model = make_time_model(run.value());
  RECTO_RETURN_IF_ERROR(time_model.status());
  const Result<OpenedSource> source = open_source(config);
  RECTO_RETURN_IF_ERROR(source.status());
  Result<std::unique_ptr<sim::Allocator>> allocator = make_allocator(run.value());
  RECTO_RETURN_IF_ERROR(allocator.status());
  WatchedAllocator watched(std::move(allocator).value());
  MapRecorder recorder(watched, run.value(), end_of(report), begin, single_blocks);
  const Result<sim::Report> again = sim::simulate(
      *source.value().requests, watched, *time_model.value(), run.value().options, &recorder);
  RECTO_RETURN_IF_ERROR(again.status());
  return recorder.finish();
}

}  // namespace recto::experiments
