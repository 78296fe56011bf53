#include "verify/block_manager/account_audit.h"

#include "core/contract.h"
#include "cuda/cache/testing/invariants.h"

namespace recto::verify {

using sim::Gauge;

void AccountAudit::check_pool(const sim::GaugeValues& gauges) const {
  const sim::PoolStates states = allocator_.states();
  RECTO_CHECK_EQ(states.used.value(), gauges[Gauge::kUsed] + gauges[Gauge::kOutOfWindow]);
  RECTO_CHECK_EQ(states.reserved.value(), gauges[Gauge::kReserved]);
  RECTO_CHECK_EQ(states.tail.value(), gauges[Gauge::kTail]);
  RECTO_CHECK_EQ(states.cached.value(), gauges[Gauge::kCached]);
  RECTO_CHECK_EQ(states.free.value(), gauges[Gauge::kFree]);
  RECTO_CHECK_EQ(states.overhead.value(), gauges[Gauge::kOverhead]);
  RECTO_CHECK_EQ(states.sum(), allocator_.counts().pool);

  const sim::PoolStates host = allocator_.host_states();
  RECTO_CHECK_EQ(host.used.value(), gauges[Gauge::kHostUsed] + gauges[Gauge::kHostOutOfWindow]);
  RECTO_CHECK_EQ(host.reserved.value(), gauges[Gauge::kHostReserved] + gauges[Gauge::kHostTail]);
  RECTO_CHECK_EQ(host.free.value(), gauges[Gauge::kHostFree]);
  RECTO_CHECK_EQ(host.overhead.value(), gauges[Gauge::kHostOverhead]);
}

void AccountAudit::on_gauges(const sim::GaugeValues& gauges, const sim::Scheduler& scheduler,
                             SimTime) {
  for (const sim::SequenceGroup* group : scheduler.holders()) {
    for (std::size_t member = 0; member < group->members.size(); ++member) {
      allocator_.follow(group->members[member], TokenCount(scheduler.context(*group, member)));
    }
  }
  check_pool(gauges);
  if (checks_ == InvariantChecks::kAfterEachEvent) {
    RECTO_CHECK_EQ(cache::testing::check_invariants(allocator_.manager()), Status::ok());
  }
  ++counts_.events;
  if (gauges[Gauge::kOutOfWindow] > 0) ++counts_.out_of_window;
  if (gauges[Gauge::kBlockedFree] > 0) ++counts_.blocked;
  if (gauges[Gauge::kHostReserved] > 0) ++counts_.reserved_on_host;
}

void AccountAudit::on_preempted(const sim::SequenceGroup& group, sim::PreemptionKind kind,
                                SimTime) {
  if (kind == sim::PreemptionKind::kRecompute) {
    ++counts_.preemptions_recompute;
    return;
  }
  ++counts_.preemptions_swap;
  for (const sim::SequenceId member : group.members) {
    if (allocator_.swapped_room(member) > TokenCount(0)) ++counts_.swapped_room;
  }
}

// Checks that the index was large enough, and that no two contents had the same hash.
void AccountAudit::finish(const sim::Report& report) {
  const cache::CacheStatistics& seen = allocator_.manager().statistics();
  RECTO_CHECK_EQ(seen.no_node, 0);
  RECTO_CHECK_EQ(seen.evicted_for_nodes, 0);
  RECTO_CHECK_EQ(seen.collisions, 0);
  // Static batches compute prefix hits again and do not count them.
  if (report.counters.prefix_query_tokens > 0) {
    RECTO_CHECK_EQ(seen.hit_tokens, report.counters.prefix_hit_tokens);
  }
  RECTO_CHECK_EQ(allocator_.manager().num_sequences(), 0);
  counts_.evicted += seen.evicted;
  counts_.duplicates += seen.duplicates;
  counts_.hits += seen.hit_tokens;
  counts_.copied += report.counters.copied_slots;
}

}  // namespace recto::verify
