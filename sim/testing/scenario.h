#pragma once

// A small simulation as one value: pool, rules, requests. Property tests draw and print it.

#include <ostream>
#include <vector>

#include "sim/simulator.h"
#include "sim/testing/audit.h"
#include "sim/testing/pool_spec.h"

namespace recto::sim {

struct Scenario {
  PoolSpec pool;
  SimulationOptions options;
  std::vector<Request> requests;  // by arrival; ids are positions
};

std::ostream& operator<<(std::ostream& out, const Scenario& scenario);

// 100 ns per step, 3 per prefilled token, 2 per decoding sequence, 1 per KV token read: so short
// that arrivals coincide with ends of steps.
const TimeModel& scenario_time_model();

// What an audit needs to know about this scenario.
AuditOptions audit_options(const Scenario& scenario);

// Runs the scenario with the caller's observer, or with an audit after every event.
Report run_scenario(const Scenario& scenario, SimulationObserver* observer);
Report run_audited(const Scenario& scenario, CoverageEvents& coverage);

}  // namespace recto::sim
