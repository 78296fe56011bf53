#pragma once

// The latencies of all requests of a run, of which its report has only a few percentiles.

#include <cstdint>
#include <vector>

#include "core/json.h"
#include "core/units.h"
#include "sim/metrics/latency.h"
#include "sim/simulator.h"

namespace recto::experiments {

// Shares of requests, in thousandths, at which distributions are given.
std::vector<std::int64_t> quantile_per_mille();

class LatencyQuantiles final : public sim::SimulationObserver {
 public:
  void on_finished(const sim::SequenceGroup& group, SimTime now) override;

  // Latencies of finished requests, in s: {"queueing": arrival to first admission, "ttft": arrival
  // to first token, "tpot": mean gap between later tokens, "end_to_end"}, one value per quantile;
  // empty if no request was counted.
  Json json() const;

 private:
  sim::RequestLatencies latencies_{{}};
};

}  // namespace recto::experiments
