#pragma once

// Stretches of time in which blocks had one holder, for a part of a run: from a given time on until
// `segments_max` have been seen, so that a run of any length takes bounded memory.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/units.h"
#include "experiments/report/memory_map.h"
#include "experiments/report/watched_allocator.h"
#include "sim/scheduling/scheduler.h"

namespace recto::experiments {

struct BlockHistoryOptions {
  SimTime begin;
  std::size_t segments_max = 40'000;
  SimDuration tick{1};  // references that change within it are one stretch
};

class BlockHistory {
 public:
  BlockHistory(const WatchedAllocator& allocator, const BlockHistoryOptions& options);

  // Announces that the sequence will give its slots back because it was preempted.
  void expect(sim::SequenceId sequence, MapStay::End how);
  // Takes what changed at `now`, in order. O(changes + running sequences).
  void apply(const std::vector<PlaceChange>& changes, const sim::Scheduler& scheduler, SimTime now);
  // To be called when the run is over.
  MapDetail finish(SimTime now);

 private:
  struct Open {
    MapStay stay;
    std::int64_t places = 0;  // that it holds; 0: no stay
    bool decodes = false;
    std::int32_t stored = -1;  // in detail_.stays
    MapStay::End how = MapStay::End::kFinished;
    std::int64_t region_begin = 0;  // of contiguous allocators
    std::int64_t region_size = 0;
  };
  struct Place {
    SimTime since;
    std::vector<sim::SequenceId> holders;  // the first is shown
    std::int64_t index = 0;
    std::int32_t references = 0;  // the most since then
    bool is_cached = false;
  };

  Open& open(sim::SequenceId sequence);
  void take(const PlaceChange& change, SimTime now);
  void leave(const PlaceChange& change, SimTime now);
  void end_stay(Open& stay, std::int64_t context, SimTime now);
  void note_decoding(const sim::Scheduler& scheduler, SimTime now);
  // Stores the stretch of a block that ends now, if it is to be seen.
  void cut(std::int64_t block, SimTime now);
  void store_region(Open& holder, SimTime now);
  void store(MapSegment segment, Open* holder, SimTime now);
  void note_unfinished(const sim::Scheduler& scheduler, SimTime now);
  void close(SimTime now);

  const WatchedAllocator& allocator_;  // not looked at in `finish`: it may be gone
  bool is_paged_;
  BlockHistoryOptions options_;
  std::vector<Open> open_;     // by SequenceId
  std::vector<Place> places_;  // [block]
  std::int64_t not_decoding_ = 0;
  bool is_closed_ = false;
  MapDetail detail_;
};

}  // namespace recto::experiments
