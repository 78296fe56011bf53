#pragma once

// Static batching, the baseline: requests are taken in order of arrival until the batch or the
// memory is full, prompts are padded to the longest, and no request leaves or joins before the last
// one is finished.

#include <cstdint>
#include <deque>
#include <vector>

#include "sim/metrics/report.h"
#include "sim/scheduling/batch.h"
#include "sim/scheduling/gauge_values.h"
#include "sim/scheduling/host_pool.h"
#include "sim/scheduling/kv_holdings.h"
#include "sim/scheduling/scheduler.h"

namespace recto::sim {

class StaticScheduler final : public Scheduler {
 public:
  // Same parameters as ContinuousScheduler. All slots of a request are taken at its admission.
  StaticScheduler(const SchedulerOptions& options, Allocator& allocator, Counters& counters,
                  SchedulerObserver* observer);

  void enqueue(const Request& request, SimTime now) override;
  const StepPlan& plan(SimTime now) override;
  void complete(SimTime now) override;
  GaugeValues gauges() const override;
  std::vector<const SequenceGroup*> holders() const override;
  std::int64_t context(const SequenceGroup& group, std::size_t member) const override {
    return batch_.context(group, member);
  }

 private:
  void form_batch(SimTime now);
  bool admit(GroupIndex index, SimTime now);
  Fit fit(const SequenceGroup& group) const;
  void complete_prefill(SimTime now);
  void handle_deadline(GroupIndex index, SimTime now);
  std::int64_t next_deadline(const SequenceGroup& group, std::int64_t context) const;
  void answer(GroupIndex index, SimTime now);
  void disband();

  SchedulerOptions options_;
  Counters& counters_;
  SchedulerObserver* observer_;
  KvHoldings holdings_;
  Batch batch_;
  HostPool host_;  // stays empty: no group is preempted
  std::deque<GroupIndex> waiting_;
  StepPlan plan_;
  std::vector<GroupIndex> deadlines_;  // scratch
  std::int64_t padded_prompt_ = 0;     // longest prompt of the batch
  std::int64_t unanswered_ = 0;        // requests of the batch
  bool is_prefill_ = false;            // whether the planned step is a prefill
};

}  // namespace recto::sim
