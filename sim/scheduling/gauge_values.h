#pragma once

// Computes the gauges of a scheduler from its parts.

#include <cstdint>

#include "sim/metrics/gauges.h"
#include "sim/metrics/pool_account.h"
#include "sim/scheduling/batch.h"
#include "sim/scheduling/kv_holdings.h"

namespace recto::sim {

struct QueueState {
  std::int64_t waiting_requests = 0;
  Fit head = Fit::kFits;  // does the head of the queue find room now, regardless of limits?
  PoolStates host{};
};

// Also checks that the states sum to the pool. O(1).
GaugeValues gauge_values(const KvHoldings& holdings, const Batch& batch, const QueueState& queue);

}  // namespace recto::sim
