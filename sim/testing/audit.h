#pragma once

// An independent check of the accounting. After every event it walks over every sequence and every
// slot, derives each slot's state from the definition alone, and compares the counts with the
// gauges, which the simulator keeps as running sums. It shares no arithmetic with the simulator.

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "sim/simulator.h"
#include "sim/testing/audit_options.h"
#include "sim/testing/queue_audit.h"
#include "sim/testing/slot_map.h"
#include "sim/testing/token_memory.h"

namespace recto::sim {

// Counts of the events that a test requires to happen.
struct CoverageEvents {
  std::int64_t events = 0;
  std::int64_t preemptions_recompute = 0;
  std::int64_t preemptions_swap = 0;
  std::int64_t copies = 0;  // slots copied on write, or from region to region
  std::int64_t evictions = 0;
  std::int64_t hits_on_live = 0;       // blocks
  std::int64_t hits_on_evictable = 0;  // blocks
  std::int64_t rejections = 0;
  std::int64_t blocked = 0;  // events at which the head of the queue lacked memory
  std::int64_t blocked_in_swaps = 0;
  std::int64_t unplaceable = 0;
  std::int64_t out_of_window = 0;
  std::int64_t host_reserved = 0;  // events with reserved slots in the host pool
  std::int64_t host_tail = 0;
  std::int64_t host_out_of_window = 0;
  std::int64_t host_overhead = 0;
  std::int64_t beam_switches = 0;
  std::int64_t one_token_outputs = 0;
  std::int64_t full_pools = 0;  // events at which no slot was free

  void add(const Report& report);
};

// Reports errors as broken contracts. One audit follows one run.
class Audit final : public SimulationObserver {
 public:
  // The allocator and `coverage` must outlive the audit.
  Audit(const Allocator& allocator, const AuditOptions& options, CoverageEvents& coverage);

  void on_arrived(const SequenceGroup& group, SimTime now) override;
  void on_step(const StepPlan& plan, const StepCost& cost, SimTime now) override;
  void on_gauges(const GaugeValues& gauges, const Scheduler& scheduler, SimTime now) override;
  void on_admitted(const SequenceGroup& group, SimTime now) override;
  void on_preempted(const SequenceGroup& group, PreemptionKind kind, SimTime now) override;
  void on_finished(const SequenceGroup& group, SimTime now) override;

 private:
  void check_states(const GaugeValues& gauges, const SlotMap& map) const;
  void check_counts(const GaugeValues& gauges, const Scheduler& scheduler) const;
  void check_room_to_write(const Scheduler& scheduler, const SlotMap& map) const;
  void check_load(const Scheduler& scheduler) const;
  void check_host(const GaugeValues& gauges, const Scheduler& scheduler) const;
  void follow_outputs(const Scheduler& scheduler);
  void see_output(const SequenceGroup& group, std::int64_t output_tokens);
  void count_evictions();
  void count_coverage_events(const GaugeValues& gauges);

  const Allocator& allocator_;
  AuditOptions options_;
  CoverageEvents& coverage_;
  TokenMemory memory_;
  QueueAudit queue_;
  std::map<std::int64_t, std::int64_t> output_tokens_;  // seen so far, by request id
  std::optional<StepPlan> new_plan_;                    // not yet checked
  bool is_step_running_ = false;
  bool is_swapping_ = false;
  std::int64_t steps_ = 0;
  std::vector<bool> was_evictable_;  // [block]
};

}  // namespace recto::sim
