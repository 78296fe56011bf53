// Compares the event-driven simulator with the plain one on a real trace, with the benchmark's
// loads: large batches and thousands of requests, in which counters wrap around rings that small
// scenarios never fill.

#include <utility>
#include <vector>

#include "bazel/testing/catch.h"
#include "sim/allocators/paged_allocator.h"
#include "sim/request_list.h"
#include "sim/simulator.h"
#include "sim/testing/azure_regimes.h"
#include "sim/testing/plain_simulator.h"
#include "sim/traces/real_traces.h"

namespace recto::sim {
namespace {

TEST_CASE("both simulators write the same report on the Azure conversation trace") {
  for (const AzureRegime& regime : kAzureRegimes) {
    CAPTURE(regime.scale_rate, regime.max_sequences);
    std::vector<Request> requests = azure_requests(regime.scale_rate);
    if (requests.empty()) RECTO_SKIP(testing::kNoRealTrace);
    RequestList source(std::move(requests));
    const PagedOptions pool = roomy_pool(regime.max_sequences);
    const SimulationOptions options = roomy_options(regime.max_sequences);
    PagedAllocator allocator(pool);
    const Report events = simulate(source, allocator, card_time_model(), options).value();
    source.rewind();
    const Report plain = simulate_plainly(source, pool, card_time_model(), options).value();
    CHECK(events.counters.requests_finished > 19'000);
    CHECK(events.gauge(Gauge::kRunningSequences).mean > 100);
    CHECK(events.counters == plain.counters);
    CHECK(events.series == plain.series);
    CHECK((events == plain));
  }
}

}  // namespace
}  // namespace recto::sim
