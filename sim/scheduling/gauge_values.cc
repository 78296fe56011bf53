#include "sim/scheduling/gauge_values.h"

namespace recto::sim {

GaugeValues gauge_values(const KvHoldings& holdings, const Batch& batch, const QueueState& queue) {
  const PoolCounts counts = holdings.allocator().counts();
  const PoolStates states = holdings.states(counts);
  const std::int64_t reusable = (states.free + states.cached).value();
  GaugeValues values;
  values[Gauge::kUsed] = states.used.value();
  values[Gauge::kReserved] = states.reserved.value();
  values[Gauge::kOverReservation] = states.over_reservation.value();
  values[Gauge::kRounding] = states.rounding.value();
  values[Gauge::kTail] = states.tail.value();
  values[Gauge::kOutOfWindow] = states.out_of_window.value();
  values[Gauge::kCached] = states.cached.value();
  values[Gauge::kFree] = states.free.value();
  values[Gauge::kOverhead] = states.overhead.value();
  values[Gauge::kBlockedFree] = queue.head != Fit::kFits ? reusable : 0;
  values[Gauge::kUnplaceableFree] = queue.head == Fit::kNoHole ? reusable : 0;
  values[Gauge::kLargestHole] = counts.largest_hole.value();
  values[Gauge::kRunningSequences] = batch.running_sequences();
  values[Gauge::kRunningRequests] = batch.running().size();
  values[Gauge::kWaitingRequests] = queue.waiting_requests;
  values[Gauge::kTableEntries] = counts.table_entries;
  values[Gauge::kHeldBlocks] = counts.held_blocks;
  // The host pool caches nothing, and regions, which have over-reservation and rounding, are never
  // swapped.
  values[Gauge::kHostUsed] = queue.host.used.value();
  values[Gauge::kHostReserved] = queue.host.reserved.value();
  values[Gauge::kHostTail] = queue.host.tail.value();
  values[Gauge::kHostOutOfWindow] = queue.host.out_of_window.value();
  values[Gauge::kHostFree] = queue.host.free.value();
  values[Gauge::kHostOverhead] = queue.host.overhead.value();
  return values;
}

}  // namespace recto::sim
