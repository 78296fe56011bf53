#pragma once

// Looks at the manager's accounts after every event of a simulation: its states, split by what the
// allocator knows of final lengths, are the simulator's gauges, which the simulator keeps without
// asking it; in the pool and on the host.

#include <cstdint>

#include "sim/simulator.h"
#include "verify/block_manager/managed_allocator.h"

namespace recto::verify {

enum class InvariantChecks : std::uint8_t { kNone, kAfterEachEvent };

// How often what a test wants to have seen.
struct AuditCounts {
  std::int64_t events = 0;
  std::int64_t preemptions_recompute = 0;
  std::int64_t preemptions_swap = 0;
  std::int64_t swapped_room = 0;  // sets that went to the host with room for a next token
  std::int64_t reserved_on_host = 0;
  std::int64_t evicted = 0;     // blocks
  std::int64_t duplicates = 0;  // blocks computed though another one was known
  std::int64_t hits = 0;        // tokens
  std::int64_t copied = 0;      // slots
  std::int64_t out_of_window = 0;
  std::int64_t blocked = 0;  // events at which the head of the queue found no room
};

// Fails by contract. One audit follows one run.
class AccountAudit final : public sim::SimulationObserver {
 public:
  // Both outlive the audit.
  AccountAudit(ManagedAllocator& allocator, AuditCounts& counts, InvariantChecks checks)
      : allocator_(allocator), counts_(counts), checks_(checks) {}

  void on_gauges(const sim::GaugeValues& gauges, const sim::Scheduler& scheduler,
                 SimTime now) override;
  void on_preempted(const sim::Group& group, sim::PreemptionKind kind, SimTime now) override;

  // After the run.
  void finish(const sim::Report& report);

 private:
  void check_pool(const sim::GaugeValues& gauges) const;

  ManagedAllocator& allocator_;
  AuditCounts& counts_;
  InvariantChecks checks_;
};

}  // namespace recto::verify
