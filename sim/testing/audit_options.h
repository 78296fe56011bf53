#pragma once

// What the checks of a run need to know about its pool and rules.

#include <cstdint>
#include <functional>

#include "core/units.h"
#include "sim/allocators/placement.h"
#include "sim/simulator.h"

namespace recto::sim {

struct AuditOptions {
  SchedulerOptions rules;
  Batching batching = Batching::kContinuous;
  BlockCount null_blocks{0};
  // The slots that a contiguous allocator requests, and how it places them; unused if paged.
  std::function<std::int64_t(const Request&)> reservation;
  PlacementKind placement = PlacementKind::kBuddy;
  std::int64_t steps_max = 100'000;  // a run with more steps is assumed never to end
};

}  // namespace recto::sim
