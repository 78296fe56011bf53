// That the law bites: engines with one wrong step each, which it must see where that step is taken.

#include <iostream>

#include "bazel/testing/catch.h"
#include "verify/engine/engine_law.h"

namespace recto::verify {
namespace {

// fp32, so that nearly all that attention gives may decide tokens.
EngineScenario scenario_of(sim::Decoding decoding, std::int32_t width, std::uint64_t seed) {
  EngineScenario scenario;
  scenario.seed = seed;
  scenario.shape.vocabulary = 12;
  scenario.shape.layers = 1;
  scenario.draw = {.seed = seed, .attention_share = 1.0};
  scenario.traffic.decoding = decoding;
  scenario.traffic.width = width;
  // Several begin together, and then there is not enough for all.
  scenario.traffic.requests = 4;
  scenario.traffic.prompt_min = 4;
  scenario.traffic.prompt_max = 9;
  scenario.traffic.shared_prompt = 4;
  scenario.traffic.output_min = 12;
  scenario.traffic.output_max = 18;
  scenario.traffic.arrival_gap = 1;
  scenario.pool = PoolSize::kTight;
  scenario.options.block_size = 4;
  return scenario;
}

void expect_seen(EngineScenario scenario, EngineFault fault) {
  const EngineVerdict right = judge_engine(scenario);
  CHECK(right.first.empty());
  CHECK_FALSE(right.failed());
  scenario.options.fault = fault;
  const EngineVerdict wrong = judge_engine(scenario);
  std::cout << wrong.wrong_tokens << " of " << wrong.tokens << " tokens are wrong, and "
            << wrong.wrong_logits << " logits; " << wrong.first << '\n';
  CHECK(wrong.failed());
  CHECK(wrong.wrong_tokens > 0);
}

TEST_CASE("a copy on write that is not made is seen") {
  const EngineScenario scenario = scenario_of(sim::Decoding::kParallel, 3, 1);
  CHECK(judge_engine(scenario).counts.copied_blocks > 0);
  expect_seen(scenario, EngineFault::kDroppedCopy);
}

TEST_CASE("blocks that come back from the host without their contents are seen") {
  EngineScenario scenario = scenario_of(sim::Decoding::kSingle, 1, 2);
  scenario.options.preemption = sim::PreemptionRule::kSwap;
  CHECK(judge_engine(scenario).counts.swaps > 0);
  expect_seen(scenario, EngineFault::kDroppedSwapIn);
}

TEST_CASE("a position that is off by one after a preemption is seen") {
  const EngineScenario scenario = scenario_of(sim::Decoding::kSingle, 1, 3);
  CHECK(judge_engine(scenario).counts.recomputes > 0);
  expect_seen(scenario, EngineFault::kShiftedPosition);
}

TEST_CASE("a block table that lags a block behind is seen") {
  expect_seen(scenario_of(sim::Decoding::kSingle, 1, 4), EngineFault::kStaleTable);
}

TEST_CASE("a draft that nobody checks is seen") {
  EngineScenario scenario = scenario_of(sim::Decoding::kSingle, 1, 5);
  scenario.options.draft_tokens = 3;
  expect_seen(scenario, EngineFault::kUncheckedDraft);
}

// Blocks of one slot, so that each token that is rolled back loses its block.
EngineScenario guessing(std::uint64_t seed) {
  EngineScenario scenario = scenario_of(sim::Decoding::kSingle, 1, seed);
  scenario.pool = PoolSize::kRoomy;
  scenario.options.block_size = 1;
  scenario.options.draft_tokens = 3;
  CHECK(judge_engine(scenario).counts.partial_rollbacks > 0);
  return scenario;
}

TEST_CASE("a rollback that leaves a wrong draft in the cache is seen") {
  expect_seen(guessing(5), EngineFault::kRejectedDraft);
}

TEST_CASE("a rollback that takes a right draft from the cache is seen") {
  expect_seen(guessing(5), EngineFault::kLostDraft);
}

TEST_CASE("a graph that is replayed with the lengths of its first step is seen") {
  EngineScenario scenario = scenario_of(sim::Decoding::kSingle, 1, 7);
  scenario.options.graphs = StepGraphs::kReplayed;
  CHECK(judge_engine(scenario).counts.replayed_steps > 0);
  expect_seen(scenario, EngineFault::kStaleGraph);
}

TEST_CASE("a rollback at the wrong place is seen where steps with drafts are replayed, too") {
  EngineScenario scenario = guessing(5);
  scenario.options.graphs = StepGraphs::kReplayed;
  CHECK(judge_engine(scenario).counts.replayed_drafts > 0);
  expect_seen(scenario, EngineFault::kRejectedDraft);
}

TEST_CASE("beams that keep the blocks of another text are seen") {
  const EngineScenario scenario = scenario_of(sim::Decoding::kBeam, 3, 6);
  CHECK(judge_engine(scenario).counts.beam_switches > 0);
  expect_seen(scenario, EngineFault::kWrongParent);
}

}  // namespace
}  // namespace recto::verify
