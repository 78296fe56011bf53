#pragma once

// Arrival times, one after the other, as an ArrivalSpec (sim/workloads/arrivals.h) says.

#include <cstdint>
#include <memory>
#include <optional>

#include "core/random_stream.h"
#include "core/status.h"
#include "core/units.h"
#include "sim/workloads/arrivals.h"

namespace recto::sim {

struct Arrival {
  SimTime time;
  std::optional<std::int64_t> client;  // who sends it, from 0; open loops have no clients
};

// Hands out arrivals in order of time; the k-th one, from 0, is request k. Memory does not grow
// with their number.
class ArrivalProcess {
 public:
  virtual ~ArrivalProcess() = default;

  // When `next` will be, as far as is known now; an answer to a closed loop may make it earlier.
  // O(1).
  virtual Result<std::optional<SimTime>> next_time() = 0;

  // Times never decrease. nullopt if all clients of a closed loop wait for an answer; an open loop
  // never ends. An error once simulated time would pass 292 years. O(1); O(log clients).
  virtual Result<std::optional<Arrival>> next() = 0;

  // Request `request` was answered (or refused) at `now`: its client begins to think. Each request
  // of a closed loop is finished once. Open loops take no notice.
  virtual void finish(std::int64_t request, SimTime now);
};

// The spec must be valid. The first arrival comes one gap, or one think time, after time zero; an
// on/off process begins in its long-run mixture of on and off.
//
// A closed loop should be asked for an arrival when its time has come: times never decrease, so a
// client that becomes ready before an arrival already handed out is held back until then.
std::unique_ptr<ArrivalProcess> make_arrival_process(const ArrivalSpec& spec,
                                                     const RandomStream& stream);

}  // namespace recto::sim
