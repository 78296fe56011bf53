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

std::vector<Request> draw_requests() {
  std::vector<Request> requests;
  SimTime arrival;
  const auto count = *rc::gen::inRange<std::int64_t>(1, 40);
  for (std::int64_t id = 0; id < count; ++id) {
    Request request;
    request.id = id;
    request.arrival = arrival;
    request.prompt_tokens = TokenCount(*rc::gen::inRange<std::int64_t>(1, 60));
    request.output_tokens = TokenCount(*rc::gen::inRange<std::int64_t>(1, 60));
    requests.push_back(request);
    // Half of them arrive together: equal times are where orders go wrong.
    arrival += SimDuration(*rc::gen::element<std::int64_t>(0, 0, 7, 100, 1000));
  }
  return requests;
}

Scenario draw_scenario() {
  Scenario scenario;
  scenario.requests = draw_requests();
  const auto block_size = *rc::gen::inRange<std::int64_t>(1, 17);
  const auto blocks = *rc::gen::inRange<std::int64_t>(2, 60);
  scenario.pool = {.pool_slots = TokenCount(block_size * blocks + block_size / 2),
                   .block_size = TokenCount(block_size),
                   .null_blocks = BlockCount(*rc::gen::inRange<std::int64_t>(0, 2))};
  SchedulerOptions& scheduler = scenario.options.scheduler;
  scheduler.max_sequences = *rc::gen::inRange<std::int64_t>(1, 20);
  scheduler.max_batched_tokens =
      TokenCount(scheduler.max_sequences + *rc::gen::inRange<std::int64_t>(0, 80));
  scheduler.prefill = *rc::gen::element(PrefillRule::kChunked, PrefillRule::kWhole);
  scheduler.admission = *rc::gen::element(AdmissionRule::kWholePrompt, AdmissionRule::kFirstChunk);
  scheduler.watermark = TokenCount(*rc::gen::inRange<std::int64_t>(0, 20));
  scheduler.max_length = TokenCount(*rc::gen::inRange<std::int64_t>(50, 130));
  scenario.options.metrics.series_window = SimDuration(500);
  scenario.options.metrics.series_windows_max = 16;
  return scenario;
}

// Every count of a step takes time of its own, so that no difference in one goes unseen.
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
  rc::prop("on every scenario", [&] {
    const Scenario scenario = draw_scenario();
    RequestList requests(scenario.requests);
    PagedAllocator allocator(scenario.pool);
    const Report events = simulate(requests, allocator, time_model, scenario.options).value();
    requests.rewind();
    const Report plain =
        simulate_plainly(requests, scenario.pool, time_model, scenario.options).value();
    RC_ASSERT(events.counters == plain.counters);
    RC_ASSERT(events == plain);
    preemptions += events.counters.preemptions_recompute;
    rejections += events.counters.requests_rejected;
  });
  CAPTURE(preemptions, rejections);
  CHECK(preemptions > 0);
  CHECK(rejections > 0);
}

}  // namespace
}  // namespace recto::sim
