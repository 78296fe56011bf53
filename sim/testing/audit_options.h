#pragma once

// What the checks of a run need to know about its pool and rules.

#include <cstdint>

#include "sim/simulator.h"
#include "sim/testing/pool_spec.h"

namespace recto::sim {

struct AuditOptions {
  SchedulerOptions rules;
  Batching batching = Batching::kContinuous;
  PoolSpec pool;
  std::int64_t steps_max = 100'000;  // a run with more steps is assumed never to end
};

}  // namespace recto::sim
