#pragma once

// Compares the manager's accounts with the simulator's gauges after every event of a simulation,
// for the device pool and the host pool. The manager's states are split by the final lengths, which
// the allocator knows. The simulator computes its gauges without asking the manager.

#include <cstdint>

#include "sim/simulator.h"
#include "verify/block_manager/managed_allocator.h"

namespace recto::verify {

enum class InvariantChecks : std::uint8_t { kNone, kAfterEachEvent };

// Counts of events that a test requires to occur.
struct AuditCounts {
  std::int64_t events = 0;
  std::int64_t preemptions_recompute = 0;
  std::int64_t preemptions_swap = 0;
  std::int64_t swapped_room = 0;  // sets swapped out with room for a next token
  std::int64_t reserved_on_host = 0;
  std::int64_t evicted = 0;     // blocks
  std::int64_t duplicates = 0;  // blocks computed although an equal one was cached
  std::int64_t hits = 0;        // tokens
  std::int64_t copied = 0;      // slots
  std::int64_t out_of_window = 0;
  std::int64_t blocked = 0;  // events at which the head of the queue found no room
};

// A difference breaks a contract. One audit follows one run.
class AccountAudit final : public sim::SimulationObserver {
 public:
  // Both outlive the audit.
  AccountAudit(ManagedAllocator& allocator, AuditCounts& counts, InvariantChecks checks)
      : allocator_(allocator), counts_(counts), checks_(checks) {}

  void on_gauges(const sim::GaugeValues& gauges, const sim::Scheduler& scheduler,
                 SimTime now) override;
  void on_preempted(const sim::SequenceGroup& group, sim::PreemptionKind kind,
                    SimTime now) override;

  // Call it after the run.
  void finish(const sim::Report& report);

 private:
  void check_pool(const sim::GaugeValues& gauges) const;

  ManagedAllocator& allocator_;
  AuditCounts& counts_;
  InvariantChecks checks_;
};

}  // namespace recto::verify
