#include "sim/testing/audit.h"

#include <algorithm>
#include <set>

#include "core/contract.h"
#include "sim/testing/host_map.h"

namespace recto::sim {
namespace {

std::int64_t blocks_touched(std::int64_t tokens, std::int64_t block_size) {
  return (tokens - 1) / block_size + 1;
}

}  // namespace

void CoverageEvents::add(const Report& report) {
  preemptions_recompute += report.counters.preemptions_recompute;
  preemptions_swap += report.counters.preemptions_swap;
  copies += report.counters.copied_slots;
  rejections += report.counters.requests_rejected;
  beam_switches += report.counters.beam_switches;
}

Audit::Audit(const Allocator& allocator, const AuditOptions& options, CoverageEvents& coverage)
    : allocator_(allocator),
      options_(options),
      coverage_(coverage),
      memory_(allocator, options.batching),
      queue_(allocator, options_, memory_) {}

void Audit::on_arrived(const SequenceGroup& group, SimTime) { queue_.add(group); }

void Audit::on_step(const StepPlan& plan, const StepCost& cost, SimTime now) {
  memory_.on_step(plan, cost, now);
  new_plan_ = plan;
  is_step_running_ = plan.kind == StepPlan::Kind::kStep;
  is_swapping_ = plan.kind == StepPlan::Kind::kSwapOut || plan.kind == StepPlan::Kind::kSwapIn;
  RECTO_CHECK_LT(++steps_, options_.steps_max);
}

void Audit::on_gauges(const GaugeValues& gauges, const Scheduler& scheduler, SimTime now) {
  const SlotMap map(allocator_, scheduler, {options_.rules.window.value(), options_.pool});
  check_states(gauges, map);
  check_counts(gauges, scheduler);
  check_host(gauges, scheduler);
  memory_.on_gauges(gauges, scheduler, now);
  queue_.check(gauges, map);
  RECTO_CHECK_EQ(gauges[Gauge::kTableEntries], map.table_entries());
  RECTO_CHECK_EQ(gauges[Gauge::kHeldBlocks], map.held_blocks());
  if (new_plan_ && is_step_running_) check_load(scheduler);
  new_plan_.reset();
  check_room_to_write(scheduler, map);
  follow_outputs(scheduler);
  count_evictions();
  count_coverage_events(gauges);
}

void Audit::check_states(const GaugeValues& gauges, const SlotMap& map) const {
  RECTO_CHECK_EQ(gauges[Gauge::kUsed], map.count(SlotState::kUsed));
  RECTO_CHECK_EQ(gauges[Gauge::kReserved], map.count(SlotState::kReserved));
  RECTO_CHECK_EQ(gauges[Gauge::kOverReservation], map.count(SlotState::kOverReservation));
  RECTO_CHECK_EQ(gauges[Gauge::kRounding], map.count(SlotState::kRounding));
  RECTO_CHECK_EQ(gauges[Gauge::kTail], map.count(SlotState::kTail));
  RECTO_CHECK_EQ(gauges[Gauge::kOutOfWindow], map.count(SlotState::kOutOfWindow));
  RECTO_CHECK_EQ(gauges[Gauge::kCached], map.count(SlotState::kCached));
  RECTO_CHECK_EQ(gauges[Gauge::kFree], map.count(SlotState::kFree));
  RECTO_CHECK_EQ(gauges[Gauge::kOverhead], map.count(SlotState::kOverhead));

  const std::int64_t reusable = map.count(SlotState::kFree) + map.count(SlotState::kCached);
  if (allocator_.is_paged()) {
    RECTO_CHECK_EQ(gauges[Gauge::kLargestHole], reusable);
  } else {
    RECTO_CHECK_LE(gauges[Gauge::kLargestHole], map.longest_free_run());
    RECTO_CHECK_EQ(gauges[Gauge::kLargestHole] == 0, reusable == 0);
  }
}

void Audit::check_counts(const GaugeValues& gauges, const Scheduler& scheduler) const {
  std::int64_t requests = 0;
  std::int64_t sequences = 0;
  std::set<std::int32_t> ids;
  for (const SequenceGroup* group : scheduler.holders()) {
    for (const SequenceId member : group->members) RECTO_CHECK(ids.insert(member.value()).second);
    if (group->phase == SequenceGroupPhase::kSwapped ||
        group->phase == SequenceGroupPhase::kSwappingOut ||
        group->phase == SequenceGroupPhase::kSwappingIn) {
      continue;
    }
    ++requests;
    sequences += group->request.width;
  }
  RECTO_CHECK_EQ(gauges[Gauge::kRunningRequests], requests);
  RECTO_CHECK_EQ(gauges[Gauge::kRunningSequences], sequences);
}

// During a step, only the writer of a slot holds it.
void Audit::check_room_to_write(const Scheduler& scheduler, const SlotMap& map) const {
  if (!is_step_running_ || !allocator_.is_paged()) return;
  const std::int64_t block_size = allocator_.block_size().value();
  for (const SequenceGroup* group : scheduler.holders()) {
    for (std::size_t i = 0; i < group->members.size(); ++i) {
      std::int64_t writes = 0;
      if (group->phase == SequenceGroupPhase::kDecoding) writes = 1;
      if (group->phase == SequenceGroupPhase::kPrefilling && i == group->prefill_member) {
        writes = group->planned_chunk;
      }
      const std::span<const BlockId> table = allocator_.block_table(group->members[i]);
      const std::int64_t context = scheduler.context(*group, i);
      for (std::int64_t p = context; p < context + writes; ++p) {
        const auto entry = static_cast<std::size_t>(p / block_size);
        RECTO_CHECK_LT(entry, table.size());
        RECTO_CHECK_EQ(map.references(table[entry].value()), 1);
      }
    }
  }
}

// Counts the load of the step sequence by sequence and compares it with the charged load.
void Audit::check_load(const Scheduler& scheduler) const {
  const std::int64_t window = options_.rules.window.value();
  const std::int64_t block_size = allocator_.block_size().value();
  const auto seen_from = [window](std::int64_t position) {
    return window == 0 ? position + 1 : std::min(position + 1, window);
  };
  StepLoad expected;
  for (const SequenceGroup* group : scheduler.holders()) {
    const std::int64_t context = scheduler.context(*group, 0);
    if (group->phase == SequenceGroupPhase::kDecoding ||
        group->phase == SequenceGroupPhase::kAnswered) {
      for (std::int32_t member = 0; member < group->request.width; ++member) {
        ++expected.decode_sequences;
        expected.decode_kv_tokens += TokenCount(seen_from(context));
        if (!allocator_.is_paged()) continue;
        expected.decode_kv_blocks += BlockCount(blocks_touched(context + 1, block_size));
      }
    } else if (group->planned_chunk > 0) {
      const std::int64_t begin = scheduler.context(*group, group->prefill_member);
      const std::int64_t end = begin + group->planned_chunk;
      ++expected.prefill_sequences;
      expected.prefill_tokens += TokenCount(end - begin);
      expected.prefill_kv_tokens += TokenCount(seen_from(begin) + end - begin - 1);
      for (std::int64_t p = begin; p < end; ++p) expected.prefill_pairs += seen_from(p);
    }
  }
  const StepLoad& load = new_plan_->load;
  RECTO_CHECK_EQ(load.decode_sequences, expected.decode_sequences);
  RECTO_CHECK_EQ(load.decode_kv_tokens, expected.decode_kv_tokens);
  RECTO_CHECK_EQ(load.decode_kv_blocks, expected.decode_kv_blocks);
  if (expected.prefill_sequences == 0) return;  // padded prompts are not chunks
  RECTO_CHECK_EQ(load.prefill_sequences, expected.prefill_sequences);
  RECTO_CHECK_EQ(load.prefill_tokens, expected.prefill_tokens);
  RECTO_CHECK_EQ(load.prefill_kv_tokens, expected.prefill_kv_tokens);
  RECTO_CHECK_EQ(load.prefill_pairs, expected.prefill_pairs);
}

void Audit::check_host(const GaugeValues& gauges, const Scheduler& scheduler) const {
  const std::int64_t pool = options_.rules.host_pool.value();
  const HostMap map(scheduler, {.slots = pool,
                                .block_size = allocator_.block_size().value(),
                                .window = options_.rules.window.value()});
  RECTO_CHECK_EQ(gauges[Gauge::kHostUsed], map.count(SlotState::kUsed));
  RECTO_CHECK_EQ(gauges[Gauge::kHostReserved], map.count(SlotState::kReserved));
  RECTO_CHECK_EQ(gauges[Gauge::kHostTail], map.count(SlotState::kTail));
  RECTO_CHECK_EQ(gauges[Gauge::kHostOutOfWindow], map.count(SlotState::kOutOfWindow));
  RECTO_CHECK_EQ(gauges[Gauge::kHostFree], map.count(SlotState::kFree));
  RECTO_CHECK_EQ(gauges[Gauge::kHostOverhead], map.count(SlotState::kOverhead));
  const std::int64_t sum = gauges[Gauge::kHostUsed] + gauges[Gauge::kHostReserved] +
                           gauges[Gauge::kHostTail] + gauges[Gauge::kHostOutOfWindow] +
                           gauges[Gauge::kHostFree] + gauges[Gauge::kHostOverhead];
  RECTO_CHECK_EQ(sum, pool);
}

// A sequence's output tokens appear one at a time, in order, whatever happens to the sequence: the
// k-th token exists when the context is the prompt plus the k - 1 tokens before it.
void Audit::follow_outputs(const Scheduler& scheduler) {
  for (const SequenceGroup* group : scheduler.holders()) {
    if (group->phase != SequenceGroupPhase::kDecoding) continue;
    const std::int64_t context = scheduler.context(*group, 0);
    see_output(*group, context - group->request.prompt_tokens.value() + 1);
  }
}

void Audit::see_output(const SequenceGroup& group, std::int64_t output_tokens) {
  std::int64_t& seen = output_tokens_[group.request.id];
  RECTO_CHECK_GE(output_tokens, seen);
  RECTO_CHECK_LE(output_tokens, seen + 1);
  seen = output_tokens;
}

void Audit::on_finished(const SequenceGroup& group, SimTime now) {
  memory_.on_finished(group, now);
  queue_.remove(group);
  const std::int64_t wanted = group.request.output_tokens.value();
  RECTO_CHECK_EQ(output_tokens_[group.request.id] + 1, wanted);
  RECTO_CHECK_EQ(group.context, group.request.prompt_tokens.value() + wanted - 1);
  output_tokens_.erase(group.request.id);
  if (wanted == 1) ++coverage_.one_token_outputs;
}

void Audit::on_admitted(const SequenceGroup& group, SimTime) {
  if (!allocator_.is_paged() || group.phase != SequenceGroupPhase::kPrefilling) return;
  const std::int64_t block_size = allocator_.block_size().value();
  RECTO_CHECK_EQ(group.prefill_context % block_size, 0);
  RECTO_CHECK_LT(group.prefill_context, group.prefill_target);
  const std::span<const BlockId> table = allocator_.block_table(group.members.front());
  for (std::int64_t entry = 0; entry < group.prefill_context / block_size; ++entry) {
    const bool is_live = allocator_.sharers(table[static_cast<std::size_t>(entry)]) > 0;
    ++(is_live ? coverage_.hits_on_live : coverage_.hits_on_evictable);
  }
}

// Output of the previous step that was not yet observed is not lost by the preemption.
void Audit::on_preempted(const SequenceGroup& group, PreemptionKind kind, SimTime now) {
  memory_.on_preempted(group, kind, now);
  RECTO_CHECK(group.phase == (kind == PreemptionKind::kSwap ? SequenceGroupPhase::kSwappingOut
                                                            : SequenceGroupPhase::kWaiting));
  const std::int64_t known =
      kind == PreemptionKind::kSwap ? group.context + 1 : group.prefill_target;
  see_output(group, known - group.request.prompt_tokens.value());
}

void Audit::count_evictions() {
  if (!allocator_.reuses_prefixes()) return;
  const auto blocks =
      static_cast<std::size_t>(allocator_.counts().pool.value() / allocator_.block_size().value());
  was_evictable_.resize(blocks);
  for (std::size_t block = 0; block < blocks; ++block) {
    const BlockId id(static_cast<std::int32_t>(block));
    if (was_evictable_[block] && !allocator_.is_cached(id)) ++coverage_.evictions;
    was_evictable_[block] = allocator_.is_evictable(id);
  }
}

void Audit::count_coverage_events(const GaugeValues& gauges) {
  ++coverage_.events;
  if (gauges[Gauge::kBlockedFree] > 0) ++coverage_.blocked;
  if (gauges[Gauge::kBlockedFree] > 0 && is_swapping_) ++coverage_.blocked_in_swaps;
  if (gauges[Gauge::kUnplaceableFree] > 0) ++coverage_.unplaceable;
  if (gauges[Gauge::kOutOfWindow] > 0) ++coverage_.out_of_window;
  if (gauges[Gauge::kHostReserved] > 0) ++coverage_.host_reserved;
  if (gauges[Gauge::kHostTail] > 0) ++coverage_.host_tail;
  if (gauges[Gauge::kHostOutOfWindow] > 0) ++coverage_.host_out_of_window;
  if (gauges[Gauge::kHostOverhead] > 0) ++coverage_.host_overhead;
  if (gauges[Gauge::kFree] + gauges[Gauge::kCached] == 0) ++coverage_.full_pools;
}

}  // namespace recto::sim
