#pragma once

// Continuous batching: requests join and leave at every step. First come, first served: running
// requests go first, then new ones are admitted. When memory runs out, the latest arrival is
// preempted, whole groups at a time.
//
// The rules are those of vLLM's scheduler (vllm/v1/core/sched/scheduler.py): running requests are
// served in order of arrival; one that finds no slots preempts the last one, possibly itself; a
// preempted request goes to the front of the queue; a step that preempted admits nothing; a request
// is admitted only if its whole prompt fits (`scheduler_reserve_full_isl`), although its slots are
// allocated chunk by chunk; slots are returned at the end of a step.

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "sim/metrics/report.h"
#include "sim/scheduling/batch.h"
#include "sim/scheduling/gauge_values.h"
#include "sim/scheduling/host_pool.h"
#include "sim/scheduling/kv_holdings.h"
#include "sim/scheduling/scheduler.h"
#include "sim/workloads/distributions.h"

namespace recto::sim {

class ContinuousScheduler final : public Scheduler {
 public:
  // All references must outlive this object; `observer` may be null.
  ContinuousScheduler(const SchedulerOptions& options, Allocator& allocator, Counters& counters,
                      SchedulerObserver* observer);

  void enqueue(const Request& request, SimTime now) override;
  const StepPlan& plan(SimTime now) override;
  void complete(SimTime now) override;
  // Speculative decoding: records that the last completed step gave each member of a decoding group
  // `tokens` more tokens than the one already counted, at most up to the final context. Never
  // preempts: running out of slots is a broken contract. Not for groups whose beams switch.
  // O(running groups).
  void gain(std::int64_t request_id, std::int64_t tokens, SimTime now);
  GaugeValues gauges() const override;
  std::vector<const SequenceGroup*> holders() const override;
  std::int64_t context(const SequenceGroup& group, std::size_t member) const override {
    return batch_.context(group, member);
  }

 private:
  enum class Serve : std::uint8_t { kServed, kPreempted, kSwapping };

  // plan: running groups, in order of arrival
  std::optional<StepPlan> serve_running(SimTime now);
  void collect_touched();
  bool append_blocks_to_due();
  Serve serve(GroupIndex index, SimTime now);
  bool give_slots(GroupIndex index);
  void plan_prefill(SequenceGroup& group, std::int64_t context);
  std::int64_t chunk_for(std::int64_t missing) const;

  // plan: preemption
  Serve preempt_latest(SimTime now);
  void forget(GroupIndex index, SimTime now);
  void begin_swap_out(GroupIndex index, SimTime now);

  // plan: admission
  std::optional<StepPlan> admit_waiting(SimTime now);
  std::optional<StepPlan> resume_swapped();
  bool has_room_to_resume(const SequenceGroup& group) const;
  bool admit(GroupIndex index, SimTime now);

  // gauges
  std::optional<GroupIndex> queue_head() const;
  Fit head_fit() const;

  // complete
  void finish_transfer(SimTime now);
  void complete_decode(SimTime now);
  void handle_deadline(GroupIndex index, SimTime now);
  void switch_beams(GroupIndex index, std::int64_t context);
  void complete_prefill(GroupIndex index, SimTime now);
  void count_recomputed(SequenceGroup& group, std::int64_t after);
  void end_prefill(GroupIndex index, SimTime now);
  void start_decoding(GroupIndex index);
  std::int64_t next_deadline(const SequenceGroup& group, std::int64_t context) const;
  void finish(GroupIndex index, SimTime now);

  void commit(const SequenceGroup& group, std::size_t member, std::int64_t context);
  void commit_all(const SequenceGroup& group, std::int64_t context);
  void release_all(GroupIndex index);
  std::int64_t request_id(GroupIndex index) const { return batch_.at(index).request.id; }

  SchedulerOptions options_;
  Counters& counters_;
  SchedulerObserver* observer_;
  KvHoldings holdings_;
  Batch batch_;
  HostPool host_;
  RandomStream beam_streams_;
  std::optional<Geometric> beam_gap_;  // steps between switches of one beam

  std::deque<GroupIndex> waiting_;      // by request id
  std::deque<GroupIndex> swapped_;      // by request id
  std::vector<GroupIndex> prefilling_;  // running, by request id; all but the last end in this step
  std::vector<GroupIndex> forked_;      // members share their last blocks until their next write

  // State of the planned step.
  StepPlan plan_;
  std::int64_t planned_tick_ = -1;  // decode-clock tick at which slots were last allocated
  std::int64_t budget_ = 0;         // tokens
  bool prefill_planned_ = false;
  bool preempted_ = false;
  std::optional<GroupIndex> transferring_;
  std::vector<GroupIndex> touched_;  // scratch
  Batch::DueBlocks due_blocks_;      // scratch
};

}  // namespace recto::sim
