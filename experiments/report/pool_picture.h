#pragma once

// A picture of the pool at one instant, in rows of equally many slots, made by walking over
// everything that is held.

#include <array>
#include <cstdint>
#include <vector>

#include "experiments/report/memory_map.h"
#include "experiments/report/watched_allocator.h"
#include "sim/metrics/gauges.h"
#include "sim/scheduling/scheduler.h"

namespace recto::experiments {

class PoolPicture {
 public:
  // `window` 0: every token stays visible.
  PoolPicture(const WatchedAllocator& allocator, std::int64_t rows, std::int64_t window);

  // Checks that the states sum to those of `gauges`. O(held blocks + rows).
  std::vector<MapCell> take(const sim::Scheduler& scheduler, const sim::GaugeValues& gauges);

 private:
  enum State : std::uint8_t { kUsed, kReserved, kInternal, kCached, kStates };

  // The state of a held block, over all of its holders; in slots from the block's start.
  struct Held {
    std::int64_t out = 0;   // have fallen out of the window
    std::int64_t used = 0;  // tokens up to here
    std::int64_t kept = 0;  // future tokens up to here
    std::int64_t owner = -1;
  };
  struct Row {
    std::array<std::int64_t, kStates> slots{};
    std::int64_t owner = -1;
    std::int64_t owner_slots = 0;
  };

  void hold(const sim::Group& group, std::int64_t context, std::size_t member);
  void paint(std::int64_t begin, std::int64_t size, const Held& held);
  void add(std::int64_t begin, std::int64_t end, State state, std::int64_t owner);
  void paint_blocks();
  MapCell cell(const Row& row, std::int64_t slots) const;

  const WatchedAllocator& allocator_;
  std::int64_t pool_slots_;
  std::int64_t window_;
  std::vector<Row> rows_;
  std::vector<Held> blocks_;           // [block]
  std::vector<std::int64_t> touched_;  // blocks that are held
};

}  // namespace recto::experiments
