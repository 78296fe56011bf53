#pragma once

// The loads under which the event-driven simulator is compared with the plain one, on the public
// Azure conversation trace: for equality in a test, for speed in a benchmark.

#include <array>
#include <cstdint>
#include <vector>

#include "sim/allocators/paged_allocator.h"
#include "sim/request.h"
#include "sim/simulator.h"
#include "sim/time/time_model.h"

namespace recto::sim {

struct AzureRegime {
  std::int64_t scale_rate = 1;  // arrivals are denser than recorded by this factor
  std::int64_t max_sequences = 256;
};

inline constexpr std::array kAzureRegimes{AzureRegime{1, 256}, AzureRegime{1, 512},
                                          AzureRegime{2, 512}, AzureRegime{2, 1024}};

// Empty if the trace is not available (real_traces.h says where it is searched).
std::vector<Request> azure_requests(std::int64_t scale_rate);

// A pool that is large enough, and no limits except `max_sequences`.
PagedOptions roomy_pool(std::int64_t max_sequences);
SimulationOptions roomy_options(std::int64_t max_sequences);

// Coefficients on the order of an 8B model on one card; only the resulting batch size matters.
const TimeModel& card_time_model();

}  // namespace recto::sim
