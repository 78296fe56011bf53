// Properties of every simulation, on random small scenarios with an audit after each event.

#include <algorithm>
#include <iostream>
#include <map>
#include <utility>
#include <vector>

#include "bazel/testing/property.h"
#include "sim/testing/audit.h"
#include "sim/testing/scenario.h"
#include "sim/testing/scenario_generator.h"

namespace recto::sim {
namespace {

// Counts over all cases of the first test case.
CoverageEvents& coverage_events() {
  static CoverageEvents coverage;
  return coverage;
}

// Sum over the requests that were not rejected.
std::int64_t served(const Scenario& scenario, const Report& report,
                    std::int64_t (*tokens_of)(const Request&)) {
  std::int64_t tokens = 0;
  for (const Request& request : scenario.requests) {
    const auto& rejected = report.rejected_ids;
    if (std::find(rejected.begin(), rejected.end(), request.id) != rejected.end()) continue;
    tokens += tokens_of(request);
  }
  return tokens;
}

std::int64_t prompt_tokens(const Request& request) { return request.prompt_tokens.value(); }

// All tokens of prompt and output, each computed once.
std::int64_t tokens_to_compute(const Request& request) {
  return prompt_tokens(request) + (request.output_tokens.value() - 1) * request.width;
}

std::int64_t tokens_to_hand_out(const Request& request) {
  return request.output_tokens.value() * request.width;
}

void check_counters(const Scenario& scenario, const Report& report) {
  const Counters& counters = report.counters;
  RECTO_REQUIRE(counters.requests_arrived == static_cast<std::int64_t>(scenario.requests.size()));
  RECTO_REQUIRE(counters.requests_finished + counters.requests_rejected ==
                counters.requests_arrived);
  RECTO_REQUIRE(static_cast<std::int64_t>(report.rejected_ids.size()) ==
                counters.requests_rejected);
  RECTO_REQUIRE(counters.output_tokens == served(scenario, report, tokens_to_hand_out));
  if (counters.preemptions_recompute == 0) RECTO_REQUIRE(counters.recomputed_tokens == 0);
  RECTO_REQUIRE(counters.swapped_in_slots == counters.swapped_out_slots);
  RECTO_REQUIRE(counters.steps <= counters.prefill_tokens + counters.decode_tokens);
  if (scenario.options.batching == Batching::kContinuous) {
    // First admissions query the whole prompts; later preemptions do not change that.
    RECTO_REQUIRE(counters.prefix_query_tokens - counters.readmitted_query_tokens ==
                  served(scenario, report, prompt_tokens));
  }
  RECTO_REQUIRE(counters.readmitted_hit_tokens <= counters.readmitted_query_tokens);
  if (scenario.pool.kind == AllocatorKind::kPrefixCached) {
    RECTO_REQUIRE(counters.prefix_hit_tokens <
                  std::max<std::int64_t>(counters.prefix_query_tokens, 1));
    RECTO_REQUIRE(counters.prefix_hit_tokens % scenario.pool.block_size.value() == 0);
  } else {
    // No token is left out, and none is computed twice without being counted.
    RECTO_REQUIRE(counters.prefix_hit_tokens == 0);
    RECTO_REQUIRE(counters.prefill_tokens + counters.decode_tokens ==
                  served(scenario, report, tokens_to_compute) + counters.recomputed_tokens);
  }
}

void check_allocator(const Scenario& scenario, const Report& report) {
  if (scenario.pool.is_paged()) {
    RECTO_REQUIRE(report.gauge(Gauge::kUnplaceableFree).max == 0);
    RECTO_REQUIRE(report.gauge(Gauge::kOverReservation).max == 0);
    RECTO_REQUIRE(report.gauge(Gauge::kRounding).max == 0);
    return;
  }
  RECTO_REQUIRE(report.gauge(Gauge::kTail).max == 0);
  RECTO_REQUIRE(report.gauge(Gauge::kCached).max == 0);
  RECTO_REQUIRE(report.counters.preemptions_recompute + report.counters.preemptions_swap == 0);
  if (scenario.pool.kind == AllocatorKind::kContiguousOracle) {
    RECTO_REQUIRE(report.gauge(Gauge::kOverReservation).max == 0);
  }
  if (scenario.pool.placement != PlacementKind::kBuddy) {
    RECTO_REQUIRE(report.gauge(Gauge::kRounding).max == 0);
  }
}

void check_audited(const Scenario& scenario) {
  const Report report = run_audited(scenario, coverage_events());
  check_counters(scenario, report);
  check_allocator(scenario, report);
}

// Repeats the same tokens, outputs included.
void check_repeated_tokens(Draw& draw) {
  Scenario scenario = draw_scenario(draw, AllocatorKind::kPrefixCached);
  const auto content = std::make_shared<const TokenContent>(
      TokenContent{.prompt_runs = {{1, TokenCount(1000)}}, .output_content_id = 2});
  const TokenCount prompt = scenario.requests.front().prompt_tokens;
  for (Request& request : scenario.requests) {
    request.content = content;
    if (request.id % 3 != 0) request.prompt_tokens = prompt;
    if (draw.boolean()) {
      request.width = 1;
      request.decoding = Decoding::kSingle;
    }
  }
  if (draw.boolean()) {
    scenario.options.batching = Batching::kStatic;
    for (Request& request : scenario.requests) request.width = 1;
  }
  const Report report = run_audited(scenario, coverage_events());
  check_counters(scenario, report);
}

TEST_CASE("slots are conserved and every request is answered") {
  property("contiguous-max",
           [](Draw& draw) { check_audited(draw_scenario(draw, AllocatorKind::kContiguousMax)); });
  property("contiguous-pow2",
           [](Draw& draw) { check_audited(draw_scenario(draw, AllocatorKind::kContiguousPow2)); });
  property("contiguous-oracle", [](Draw& draw) {
    check_audited(draw_scenario(draw, AllocatorKind::kContiguousOracle));
  });
  property("paged", [](Draw& draw) { check_audited(draw_scenario(draw, AllocatorKind::kPaged)); });
  property("paged, under pressure",
           [](Draw& draw) { check_audited(draw_squeezed_scenario(draw, AllocatorKind::kPaged)); });
  property("prefix cache",
           [](Draw& draw) { check_audited(draw_scenario(draw, AllocatorKind::kPrefixCached)); });
  property("prefix cache, under pressure", [](Draw& draw) {
    check_audited(draw_squeezed_scenario(draw, AllocatorKind::kPrefixCached));
  });
  property("prefix cache, repeated tokens", [](Draw& draw) { check_repeated_tokens(draw); });
}

TEST_CASE("the random simulations cover every kind of event") {
  const CoverageEvents& seen = coverage_events();
  if (seen.events == 0) RECTO_SKIP("the cases before were filtered out");
  const std::vector<std::pair<const char*, std::int64_t>> counts = {
      {"preemptions by recompute", seen.preemptions_recompute},
      {"preemptions by swap", seen.preemptions_swap},
      {"slots copied", seen.copies},
      {"evictions", seen.evictions},
      {"hits on live blocks", seen.hits_on_live},
      {"hits on evictable blocks", seen.hits_on_evictable},
      {"rejections", seen.rejections},
      {"events with a blocked head", seen.blocked},
      {"events with a blocked head during a swap", seen.blocked_in_swaps},
      {"events with unplaceable slots", seen.unplaceable},
      {"events with slots out of the window", seen.out_of_window},
      {"events with reserved slots on the host", seen.host_reserved},
      {"events with tail slots on the host", seen.host_tail},
      {"events with host slots out of the window", seen.host_out_of_window},
      {"events with a rest of a block on the host", seen.host_overhead},
      {"events with a full pool", seen.full_pools},
      {"beam switches", seen.beam_switches},
      {"outputs of one token", seen.one_token_outputs},
  };
  std::cout << seen.events << " events";
  for (const auto& [what, count] : counts) {
    std::cout << ", " << count << " " << what;
    INFO(what);
    CHECK(count > 0);
  }
  std::cout << std::endl;
}

TEST_CASE("a run depends on its inputs alone") {
  property("the same scenario twice gives equal reports", [](Draw& draw) {
    const Scenario scenario = draw_scenario(draw);
    RECTO_REQUIRE(run_scenario(scenario, nullptr) == run_scenario(scenario, nullptr));
  });
  property("an observer changes nothing", [](Draw& draw) {
    const Scenario scenario = draw_scenario(draw);
    CoverageEvents ignored;
    RECTO_REQUIRE(run_scenario(scenario, nullptr) == run_audited(scenario, ignored));
  });
}

// Checks that each request is admitted at the first instant, from its arrival on, at which a step
// is planned: the end of the current step, or now.
class AdmissionAtOnce final : public SimulationObserver {
 public:
  void on_step(const StepPlan& plan, const StepCost& cost, SimTime now) override {
    RECTO_REQUIRE(plan.kind == StepPlan::Kind::kStep);
    step_end_ = now + cost.total();
  }
  void on_arrived(const SequenceGroup& group, SimTime now) override {
    due_[group.request.id] = std::max(now, step_end_);
  }
  void on_rejected(const Request&, SimTime) override { ++rejected_; }
  void on_admitted(const SequenceGroup& group, SimTime now) override {
    RECTO_REQUIRE(now == due_.at(group.request.id));
    if (now > group.request.arrival) ++waited_;
    ++admitted_;
  }

  std::int64_t waited() const { return waited_; }
  std::int64_t seen() const { return admitted_ + rejected_; }

 private:
  SimTime step_end_;
  std::map<std::int64_t, SimTime> due_;  // by request id
  std::int64_t waited_ = 0;
  std::int64_t admitted_ = 0;
  std::int64_t rejected_ = 0;
};

// Draws gaps up to a power of ten: from simultaneous arrivals, over steps of some hundred ns, to
// hours.
void spread_arrivals(Draw& draw, std::vector<Request>& requests) {
  const auto decade = draw.growing<int>(-1, 13);
  std::int64_t gap_max = decade < 0 ? 0 : 1;
  for (int i = 0; i < decade; ++i) gap_max *= 10;
  SimTime arrival;
  for (Request& request : requests) {
    request.arrival = arrival;
    arrival += SimDuration(draw.uniform(0, gap_max));
  }
}

TEST_CASE("in an infinite pool without other limits no request waits beyond the running step") {
  std::int64_t waited = 0;
  std::int64_t at_once = 0;
  property("beyond the step under way, at any rate of arrival", [&](Draw& draw) {
    Scenario scenario = draw_scenario(draw);
    scenario.options.batching = Batching::kContinuous;
    scenario.options.scheduler.max_sequences = 1'000'000;
    scenario.options.scheduler.max_batched_tokens = TokenCount(1'000'000'000);
    scenario.pool.slots = TokenCount(1'000'000);
    spread_arrivals(draw, scenario.requests);
    AdmissionAtOnce seen;
    const Report report = run_scenario(scenario, &seen);
    RECTO_REQUIRE(seen.seen() == static_cast<std::int64_t>(scenario.requests.size()));
    RECTO_REQUIRE(report.counters.preemptions_recompute == 0);
    RECTO_REQUIRE(report.counters.preemptions_swap == 0);
    RECTO_REQUIRE(report.gauge(Gauge::kBlockedFree).max == 0);
    RECTO_REQUIRE(report.counters.recomputed_tokens == 0);
    waited += seen.waited();
    at_once += report.counters.requests_finished - seen.waited();
  });
  CAPTURE(waited, at_once);
  CHECK(waited > 0);
  CHECK(at_once > 0);
}

TEST_CASE("in an infinite pool no request waits for memory or is preempted") {
  property("under any limits", [](Draw& draw) {
    Scenario scenario = draw_scenario(draw);
    scenario.pool.slots = TokenCount(1'000'000);
    const Report report = run_scenario(scenario, nullptr);
    RECTO_REQUIRE(report.counters.preemptions_recompute == 0);
    RECTO_REQUIRE(report.counters.preemptions_swap == 0);
    RECTO_REQUIRE(report.gauge(Gauge::kBlockedFree).max == 0);
    RECTO_REQUIRE(report.counters.recomputed_tokens == 0);
  });
}

TEST_CASE("a prefix cache without pressure replaces prefill by hits, and keeps all outputs") {
  property("hits and computed tokens are what was computed without it", [](Draw& draw) {
    Scenario scenario = draw_scenario(draw, AllocatorKind::kPrefixCached);
    scenario.options.batching = Batching::kContinuous;
    scenario.pool.slots = TokenCount(100'000);
    const Report with = run_scenario(scenario, nullptr);
    scenario.pool.kind = AllocatorKind::kPaged;
    const Report without = run_scenario(scenario, nullptr);
    RECTO_REQUIRE(with.counters.requests_finished == without.counters.requests_finished);
    RECTO_REQUIRE(with.counters.output_tokens == without.counters.output_tokens);
    RECTO_REQUIRE(with.counters.prefill_tokens + with.counters.prefix_hit_tokens ==
                  without.counters.prefill_tokens);
    if (with.counters.prefix_hit_tokens > 0) draw.classify("hits");
  });
}

}  // namespace
}  // namespace recto::sim
