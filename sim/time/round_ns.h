#pragma once

// The only place where simulated time is converted from a real number to whole nanoseconds.

#include <cstdint>

#include "core/contract.h"
#include "core/units.h"
#include "sim/time/time_model.h"

namespace recto::sim {

// Rounds to the nearest nanosecond, halves up. `ns` must be finite, non-negative and below 2^62.
// Plain IEEE arithmetic: the same bits on every machine, as long as the compiler does not contract
// it.
inline SimDuration round_ns(double ns) {
  RECTO_CHECK_GE(ns, 0.0);
  RECTO_CHECK_LT(ns, 4611686018427387904.0);
  return SimDuration(static_cast<std::int64_t>(ns + 0.5));
}

// Ensures that time advances with every step: a cost that rounds to 0 gets 1 ns of fixed time.
inline StepCost at_least_one_ns(StepCost cost) {
  if (cost.total() < SimDuration(1)) cost.fixed += SimDuration(1) - cost.total();
  return cost;
}

}  // namespace recto::sim
