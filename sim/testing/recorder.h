#pragma once

// Records what an observer sees, one line per event, for examples that are checked by hand.

#include <string>
#include <vector>

#include "core/contract.h"
#include "sim/simulator.h"

namespace recto::sim {

struct RecordedGauges {
  SimTime time;
  GaugeValues values;
};

// Lines are "TIME WHAT REQUEST": "120 admitted 0".
class Recorder final : public SimulationObserver {
 public:
  void on_arrived(const SequenceGroup& group, SimTime now) override { add(now, "arrived", group); }
  void on_rejected(const Request& request, SimTime now) override {
    add(now, "rejected", request.id);
  }
  void on_admitted(const SequenceGroup& group, SimTime now) override {
    add(now, "admitted", group);
  }
  void on_first_token(const SequenceGroup& group, SimTime now) override {
    add(now, "first token", group);
  }
  void on_preempted(const SequenceGroup& group, PreemptionKind kind, SimTime now) override {
    add(now, kind == PreemptionKind::kSwap ? "swapped" : "forgotten", group);
  }
  void on_finished(const SequenceGroup& group, SimTime now) override {
    add(now, "finished", group);
  }
  void on_step(const StepPlan& plan, const StepCost&, SimTime now) override {
    RECTO_CHECK_LT(plans.size(), kStepsMax);
    plans.push_back(plan);
    plan_times.push_back(now);
  }
  void on_gauges(const GaugeValues& values, const Scheduler&, SimTime now) override {
    gauges.push_back({now, values});
  }

  // The gauge values after the event at `time`.
  const GaugeValues& gauges_at(std::int64_t time) const {
    for (auto entry = gauges.rbegin(); entry != gauges.rend(); ++entry) {
      if (entry->time <= SimTime(time)) return entry->values;
    }
    return gauges.front().values;
  }

  std::vector<std::string> lines;
  std::vector<StepPlan> plans;
  std::vector<SimTime> plan_times;
  std::vector<RecordedGauges> gauges;

 private:
  static constexpr std::size_t kStepsMax = 100'000;  // a longer run is assumed never to end

  void add(SimTime now, const std::string& what, const SequenceGroup& group) {
    add(now, what, group.request.id);
  }
  void add(SimTime now, const std::string& what, std::int64_t request) {
    lines.push_back(std::to_string(now.value()) + " " + what + " " + std::to_string(request));
  }
};

}  // namespace recto::sim
