#pragma once

// One run: a scheduler and an allocator serve the requests of a source, against a clock driven by a
// time model. The same inputs give the same bytes on any machine.

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "core/status.h"
#include "sim/allocators/allocator.h"
#include "sim/metrics/latency.h"
#include "sim/metrics/report.h"
#include "sim/metrics/time_weighted.h"
#include "sim/request.h"
#include "sim/scheduling/scheduler.h"
#include "sim/time/time_model.h"

namespace recto::sim {

enum class Batching : std::uint8_t {
  kContinuous,
  kStatic,  // a batch runs to the end of its longest member before the next one starts
};

struct SimulationOptions {
  Batching batching = Batching::kContinuous;
  SchedulerOptions scheduler;
  TimeWeightedOptions metrics;
  LatencyLimits limits;
  ByteCount kv_bytes_per_token{1};
  double host_bandwidth_bytes_per_s = 25e9;  // for swaps
};

// Observes a run, for timelines and checks. Called after each event has been handled.
class SimulationObserver : public SchedulerObserver {
 public:
  virtual void on_step(const StepPlan&, const StepCost&, SimTime) {}
  virtual void on_gauges(const GaugeValues&, const Scheduler&, SimTime) {}
};

// Runs until the source is exhausted and every request is answered or rejected. Running time is
// proportional to steps, arrivals and block boundaries, not to tokens. Fails if the source fails,
// or if options or a request are inconsistent.
Result<Report> simulate(RequestSource& source, Allocator& allocator, const TimeModel& time_model,
                        const SimulationOptions& options, SimulationObserver* observer = nullptr);

}  // namespace recto::sim
