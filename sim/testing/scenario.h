#pragma once

// A small simulation as one value: pool, rules, requests. Property tests draw and print it.

#include <memory>
#include <ostream>
#include <vector>

#include "sim/allocators/allocator.h"
#include "sim/allocators/placement.h"
#include "sim/simulator.h"
#include "sim/testing/audit.h"

namespace recto::sim {

enum class AllocatorKind : std::uint8_t {
  kContiguousMax,
  kContiguousPow2,
  kContiguousOracle,
  kPaged,
  kPrefixCached,
};

struct PoolSpec {
  AllocatorKind kind = AllocatorKind::kPaged;
  TokenCount slots{0};
  TokenCount block_size{16};                        // paged
  BlockCount null_blocks{0};                        // paged
  PlacementKind placement = PlacementKind::kBuddy;  // contiguous
  TokenCount max_length{2048};                      // contiguous

  bool is_paged() const {
    return kind == AllocatorKind::kPaged || kind == AllocatorKind::kPrefixCached;
  }
};

struct Scenario {
  PoolSpec pool;
  SimulationOptions options;
  std::vector<Request> requests;  // by arrival; ids are positions
};

std::ostream& operator<<(std::ostream& out, const Scenario& scenario);

std::unique_ptr<Allocator> make_allocator(const PoolSpec& pool);

// 100 ns per step, 3 per prefilled token, 2 per decoding sequence, 1 per KV token read: so short
// that arrivals coincide with ends of steps.
const TimeModel& scenario_time_model();

// What an audit needs to know about this scenario.
AuditOptions audit_options(const Scenario& scenario);

// Runs the scenario with the caller's observer, or with an audit after every event.
Report run_scenario(const Scenario& scenario, SimulationObserver* observer);
Report run_audited(const Scenario& scenario, CoverageEvents& coverage);

}  // namespace recto::sim
