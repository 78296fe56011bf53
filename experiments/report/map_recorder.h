#pragma once

// Follows a run and draws its memory map: a picture of the whole pool at regular times, and the
// history of individual blocks over a part of the run.

#include <array>
#include <cstdint>
#include <memory>
#include <optional>

#include "core/units.h"
#include "experiments/report/block_history.h"
#include "experiments/report/memory_map.h"
#include "experiments/report/pool_picture.h"
#include "experiments/report/watched_allocator.h"
#include "sim/simulator.h"

namespace recto::experiments {

struct MapOptions {
  SimTime end;           // of the run, known from an earlier one
  SimTime detail_begin;  // of the part that is shown block by block
  std::int64_t columns = 720;
  std::int64_t rows_max = 160;
  std::size_t segments_max = 40'000;
  std::int64_t null_blocks = 0;
  std::int64_t window = 0;
};

class MapRecorder final : public sim::SimulationObserver {
 public:
  explicit MapRecorder(const MapOptions& options) : options_(options) {}

  // Returns `allocator` under watch. To be called once, before the run.
  std::unique_ptr<sim::Allocator> watch(std::unique_ptr<sim::Allocator> allocator);

  void on_preempted(const sim::Group& group, sim::PreemptionKind kind, SimTime now) override;
  void on_gauges(const sim::GaugeValues& gauges, const sim::Scheduler& scheduler,
                 SimTime now) override;

  // To be called after the run; the watched allocator may be gone by then.
  MemoryMap finish();

 private:
  MapOptions options_;
  WatchedAllocator* allocator_ = nullptr;
  std::optional<PoolPicture> picture_;
  std::optional<BlockHistory> history_;
  std::array<std::int64_t, kMapMarkCount> marks_{};
  std::int64_t next_column_ = 0;
  SimTime now_;
  MemoryMap map_;
};

}  // namespace recto::experiments
