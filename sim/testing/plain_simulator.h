#pragma once

// The simulator in its straightforward form: every sequence is touched at every step, states are
// counted by walking over all sequences, blocks come from a std::deque, and requests live in a
// std::unordered_map. It is the model that the event-driven simulator must match byte for byte, and
// the baseline for its speed.
//
// It covers paging without prefix cache, continuous batching, one sequence per request, no window,
// and preemption by recompute.

#include "core/status.h"
#include "sim/allocators/paged_allocator.h"
#include "sim/metrics/report.h"
#include "sim/request.h"
#include "sim/simulator.h"
#include "sim/time/time_model.h"

namespace recto::sim {

Result<Report> simulate_plainly(RequestSource& source, const PagedOptions& pool,
                                const TimeModel& time_model, const SimulationOptions& options);

}  // namespace recto::sim
