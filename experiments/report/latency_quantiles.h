#pragma once

// Whole latency distributions of one run, not only the percentiles that a report keeps.

#include <array>
#include <cstdint>
#include <vector>

#include "core/units.h"
#include "sim/metrics/time_weighted.h"
#include "sim/simulator.h"

namespace recto::experiments {

// Shares of requests, in thousandths, at which distributions are given.
std::vector<std::int64_t> quantile_per_mille();

// Of finished requests, as sim/metrics/latency.h counts them; in seconds, one value per quantile.
// Empty where nothing was counted.
struct LatencyQuantiles {
  std::vector<double> queueing_s;    // arrival to first admission
  std::vector<double> ttft_s;        // arrival to first token
  std::vector<double> tpot_s;        // mean gap between later tokens
  std::vector<double> end_to_end_s;  // arrival to last token
};

class LatencyCollector final : public sim::SimulationObserver {
 public:
  void on_finished(const sim::Group& group, SimTime now) override;

  LatencyQuantiles quantiles() const;

 private:
  struct Distribution {
    sim::Histogram histogram;
    std::int64_t max_ns = 0;

    void add(SimDuration latency);
    std::vector<double> quantiles_s() const;
  };

  Distribution queueing_;
  Distribution ttft_;
  Distribution tpot_;
  Distribution end_to_end_;
};

}  // namespace recto::experiments
