#pragma once

// Stretches of time in which blocks had one holder, for a part of a run: 40,000 stretches from a
// given time on, so that memory is bounded for any run.

#include <cstdint>
#include <vector>

#include "core/units.h"
#include "experiments/report/memory_map.h"
#include "experiments/report/watched_allocator.h"
#include "sim/scheduling/scheduler.h"

namespace recto::experiments {

class BlockHistory {
 public:
  // References that change within a `tick` are one stretch.
  BlockHistory(const WatchedAllocator& allocator, SimTime begin, SimDuration tick);

  // Announces that the sequence will release its slots because it was preempted.
  void expect(sim::SequenceId sequence, MapStay::End how) { open(sequence).stay.how = how; }
  // Takes what changed at `now`, in order. O(changes + running sequences).
  void apply(const std::vector<PlaceChange>& changes, const sim::Scheduler& scheduler, SimTime now);
  // To be called when the run is over.
  MapDetail finish(SimTime now);

 private:
  struct Open {
    MapStay stay;
    std::int64_t places = 0;  // held places; 0: no stay
    bool decodes = false;
    std::int32_t stored = -1;  // in detail_.stays
  };
  struct Place {
    SimTime since;
    std::vector<sim::SequenceId> holders;  // the first is shown
    std::int64_t begin = 0;                // block number, or first slot of a region
    std::int64_t size = 1;
    std::int64_t index = 0;
    std::int32_t references = 0;  // the most since then
    bool is_cached = false;
  };

  Open& open(sim::SequenceId sequence);
  // The block, or the sequence's region.
  Place& place(const PlaceChange& change);
  void take(const PlaceChange& change, SimTime now);
  void leave(const PlaceChange& change, SimTime now);
  void end_stay(Open& stay, std::int64_t context, SimTime now);
  void note_decoding(const sim::Scheduler& scheduler, SimTime now);
  // Stores the stretch of a place that ends now, if it is in the shown part.
  void cut(Place& place, SimTime now);
  void note_unfinished(const sim::Scheduler& scheduler, SimTime now);
  void close(SimTime now);

  const WatchedAllocator& allocator_;
  SimTime begin_;
  SimDuration tick_;
  std::vector<Open> open_;     // by SequenceId
  std::vector<Place> places_;  // by block number; of regions by SequenceId
  std::int64_t not_decoding_ = 0;
  bool is_closed_ = false;
  MapDetail detail_;
};

}  // namespace recto::experiments
