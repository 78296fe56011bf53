#pragma once

// Generates arrival times, one after the other, from an ArrivalSpec (workload_specs.h).

#include <cstdint>
#include <memory>
#include <optional>

#include "core/random_stream.h"
#include "core/status.h"
#include "core/units.h"
#include "sim/workloads/workload_specs.h"

namespace recto::sim {

struct Arrival {
  SimTime time;
  std::optional<std::int64_t> client;  // the sender, from 0; open loops have no clients
};

// Generates arrivals in order of time; the k-th arrival, from 0, is that of request k. Memory does
// not grow with their number.
class ArrivalProcess {
 public:
  virtual ~ArrivalProcess() = default;

  // The time of the next arrival, as far as is known now; in a closed loop, an answer may make it
  // earlier. O(1).
  virtual Result<std::optional<SimTime>> next_time() = 0;

  // Returns the next arrival. Times never decrease. nullopt if all clients of a closed loop wait
  // for an answer; an open loop never ends. An error once simulated time would exceed 292 years.
  // O(1); O(log clients) in a closed loop.
  virtual Result<std::optional<Arrival>> next() = 0;

  // Reports that `request` was answered (or refused) at `now`: its client begins to think. Each
  // request of a closed loop must be finished once. Open loops ignore this.
  virtual void finish(std::int64_t request, SimTime now);
};

// The spec must be valid. The first arrival is one gap, or one think time, after time zero; an
// on/off process begins in its stationary mixture of on and off.
//
// In a closed loop, ask for an arrival only when its time has come. Times never decrease, so a
// client that becomes ready before an arrival that was already returned is delayed until that
// arrival.
std::unique_ptr<ArrivalProcess> make_arrival_process(const ArrivalSpec& spec,
                                                     const RandomStream& stream);

}  // namespace recto::sim
