#include "sim/testing/plain_simulator.h"

#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "bazel/testing/property.h"
#include "sim/allocators/paged_allocator.h"
#include "sim/request_list.h"
#include "sim/simulator.h"
#include "sim/time/time_model.h"

namespace recto::sim {
namespace {

struct Scenario {
  std::vector<Request> requests;
  PagedOptions pool;
  SimulationOptions options;
};

std::vector<Request> draw_requests(Draw& draw) {
  std::vector<Request> requests;
  SimTime arrival;
  const auto count = draw.growing(1, 39);
  for (std::int64_t id = 0; id < count; ++id) {
    Request request;
    request.id = id;
    request.arrival = arrival;
    request.prompt_tokens = TokenCount(draw.growing(1, 59));
    request.output_tokens = TokenCount(draw.growing(1, 59));
    requests.push_back(request);
    // Half of the requests arrive simultaneously, where ordering mistakes are most likely.
    arrival += SimDuration(draw.element<std::int64_t>({0, 0, 7, 100, 1000}));
  }
  return requests;
}

Scenario draw_scenario(Draw& draw) {
  Scenario scenario;
  scenario.requests = draw_requests(draw);
  const auto block_size = draw.growing(1, 16);
  const auto blocks = draw.growing(2, 59);
  scenario.pool = {.pool_slots = TokenCount(block_size * blocks + block_size / 2),
                   .block_size = TokenCount(block_size),
                   .null_blocks = BlockCount(draw.growing(0, 1))};
  SchedulerOptions& scheduler = scenario.options.scheduler;
  scheduler.max_sequences = draw.growing(1, 19);
  scheduler.max_batched_tokens = TokenCount(scheduler.max_sequences + draw.growing(0, 79));
  scheduler.prefill = draw.element({PrefillRule::kChunked, PrefillRule::kWhole});
  scheduler.admission = draw.element({AdmissionRule::kWholePrompt, AdmissionRule::kFirstChunk});
  scheduler.watermark = TokenCount(draw.growing(0, 19));
  scheduler.max_length = TokenCount(draw.growing(50, 129));
  scenario.options.metrics.series_window = SimDuration(500);
  scenario.options.metrics.series_windows_max = 16;
  return scenario;
}

// Each count of a step has its own cost, so that a difference in any count changes the time.
class EveryCount final : public TimeModel {
 public:
  StepCost cost(const StepLoad& load) const override {
    StepCost cost;
    cost.fixed = SimDuration(50 + load.prefill_sequences);
    cost.linear = SimDuration(2 * load.decode_sequences + 3 * load.prefill_tokens.value());
    cost.attention =
        SimDuration(load.decode_kv_tokens.value() / 3 + load.prefill_pairs +
                    5 * load.decode_kv_blocks.value() + 7 * load.prefill_kv_tokens.value());
    return cost;
  }
  std::string describe() const override { return "made up"; }
};

TEST_CASE("the event-driven simulator and the plain one write the same report") {
  const EveryCount time_model;
  std::int64_t preemptions = 0;
  std::int64_t rejections = 0;
  property("on every scenario", [&](Draw& draw) {
    const Scenario scenario = draw_scenario(draw);
    RequestList requests(scenario.requests);
    PagedAllocator allocator(scenario.pool);
    const Report events = simulate(requests, allocator, time_model, scenario.options).value();
    requests.rewind();
    const Report plain =
        simulate_plainly(requests, scenario.pool, time_model, scenario.options).value();
    RECTO_REQUIRE(events.counters == plain.counters);
    RECTO_REQUIRE(events == plain);
    preemptions += events.counters.preemptions_recompute;
    rejections += events.counters.requests_rejected;
  });
  CAPTURE(preemptions, rejections);
  CHECK(preemptions > 0);
  CHECK(rejections > 0);
}

}  // namespace
}  // namespace recto::sim
