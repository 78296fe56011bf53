// Tests of admission and of the contents of a step, on examples that can be checked by hand. Blocks
// of 4 slots; a step takes 100 ns, plus 3 per prefilled token, 2 per decoding sequence and 1 per KV
// token read.

#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "sim/testing/recorder.h"
#include "sim/testing/scenario.h"

namespace recto::sim {
namespace {

using Lines = std::vector<std::string>;

Scenario blocks_of_four(std::int64_t blocks) {
  Scenario scenario;
  scenario.pool.slots = TokenCount(4 * blocks);
  scenario.pool.block_size = TokenCount(4);
  return scenario;
}

Request& add(Scenario& scenario, std::int64_t arrival, std::int64_t prompt, std::int64_t output) {
  scenario.requests.push_back({.id = static_cast<std::int64_t>(scenario.requests.size()),
                               .arrival = SimTime(arrival),
                               .prompt_tokens = TokenCount(prompt),
                               .output_tokens = TokenCount(output)});
  return scenario.requests.back();
}

std::vector<std::int64_t> prefilled_per_step(const Recorder& seen) {
  std::vector<std::int64_t> tokens;
  for (const StepPlan& plan : seen.plans) tokens.push_back(plan.load.prefill_tokens.value());
  return tokens;
}

TEST_CASE("a prompt beyond the budget is prefilled in chunks") {
  Scenario scenario = blocks_of_four(8);
  scenario.options.scheduler.max_sequences = 8;
  scenario.options.scheduler.max_batched_tokens = TokenCount(8);
  add(scenario, 0, 20, 1);
  Recorder seen;
  const Report report = run_scenario(scenario, &seen);
  CHECK(prefilled_per_step(seen) == std::vector<std::int64_t>{8, 8, 4});
  CHECK(seen.plans[1].load.prefill_kv_tokens == TokenCount(16));
  CHECK(seen.plans[2].load.prefill_pairs == 17 + 18 + 19 + 20);
  CHECK(report.counters.steps == 3);
}

TEST_CASE("slots are given out chunk by chunk, though admission asked for the whole prompt") {
  Scenario scenario = blocks_of_four(8);
  scenario.options.scheduler.max_sequences = 8;
  scenario.options.scheduler.max_batched_tokens = TokenCount(8);
  add(scenario, 0, 20, 1);
  Recorder seen;
  run_scenario(scenario, &seen);
  CHECK(seen.gauges_at(0)[Gauge::kHeldBlocks] == 2);
  CHECK(seen.gauges_at(124)[Gauge::kHeldBlocks] == 4);
}

TEST_CASE("decoding sequences take their tokens off the budget first") {
  Scenario scenario = blocks_of_four(8);
  scenario.options.scheduler.max_sequences = 4;
  scenario.options.scheduler.max_batched_tokens = TokenCount(4);
  add(scenario, 0, 2, 4);
  add(scenario, 0, 8, 1);
  Recorder seen;
  run_scenario(scenario, &seen);
  CHECK(prefilled_per_step(seen) == std::vector<std::int64_t>{4, 3, 3, 0});
}

TEST_CASE("a sequence that decodes alone ends") {
  Scenario scenario = blocks_of_four(8);
  add(scenario, 0, 2, 4);
  Recorder seen;
  CHECK_NOTHROW(run_scenario(scenario, &seen));
}

TEST_CASE("a whole prompt beyond the budget has the prefill of a step to itself") {
  Scenario scenario = blocks_of_four(16);
  scenario.options.scheduler.max_sequences = 8;
  scenario.options.scheduler.max_batched_tokens = TokenCount(8);
  scenario.options.scheduler.prefill = PrefillRule::kWhole;
  add(scenario, 0, 5, 1);
  add(scenario, 0, 20, 1);
  add(scenario, 0, 3, 1);
  Recorder seen;
  run_scenario(scenario, &seen);
  CHECK(prefilled_per_step(seen) == std::vector<std::int64_t>{5, 20, 3});
}

TEST_CASE("with whole-prompt admission a request waits for its whole prompt, else for a chunk") {
  for (const AdmissionRule rule : {AdmissionRule::kWholePrompt, AdmissionRule::kFirstChunk}) {
    Scenario scenario = blocks_of_four(5);
    scenario.options.scheduler.max_sequences = 8;
    scenario.options.scheduler.max_batched_tokens = TokenCount(8);
    scenario.options.scheduler.admission = rule;
    add(scenario, 0, 4, 8);
    add(scenario, 1, 20, 1);
    Recorder seen;
    run_scenario(scenario, &seen);
    const bool is_admitted_at_once = seen.gauges_at(112)[Gauge::kRunningRequests] == 2;
    CHECK(is_admitted_at_once == (rule == AdmissionRule::kFirstChunk));
  }
}

TEST_CASE("an admission leaves the watermark free") {
  for (const std::int64_t watermark : {0, 4}) {
    Scenario scenario = blocks_of_four(4);
    scenario.options.scheduler.watermark = TokenCount(watermark);
    add(scenario, 0, 4, 2);
    add(scenario, 1, 8, 1);
    Recorder seen;
    run_scenario(scenario, &seen);
    // At 112 request 0 begins its second block, and two blocks are free.
    CHECK(seen.gauges_at(112)[Gauge::kWaitingRequests] == (watermark == 0 ? 0 : 1));
    CHECK(seen.gauges_at(112)[Gauge::kBlockedFree] == (watermark == 0 ? 0 : 8));
  }
}

TEST_CASE("blocks that could be evicted count as available") {
  Scenario scenario = blocks_of_four(4);
  scenario.pool.kind = AllocatorKind::kPrefixCached;
  add(scenario, 0, 12, 1);     // leaves three cached blocks
  add(scenario, 1000, 16, 1);  // with other tokens
  Recorder seen;
  const Report report = run_scenario(scenario, &seen);
  CHECK(seen.gauges_at(999)[Gauge::kCached] == 12);
  CHECK(seen.lines.back() == "1148 finished 1");
  CHECK(report.counters.prefix_hit_tokens == 0);
}

TEST_CASE("at most max_sequences run, and waiting for them is not blocked memory") {
  Scenario scenario = blocks_of_four(16);
  scenario.options.scheduler.max_sequences = 1;
  add(scenario, 0, 4, 2);
  add(scenario, 0, 4, 1);
  Recorder seen;
  run_scenario(scenario, &seen);
  CHECK(seen.gauges_at(0)[Gauge::kRunningSequences] == 1);
  CHECK(seen.gauges_at(0)[Gauge::kWaitingRequests] == 1);
  CHECK(seen.gauges_at(0)[Gauge::kBlockedFree] == 0);
}

TEST_CASE("a request behind a blocked head waits, though it would fit") {
  Scenario scenario = blocks_of_four(4);
  add(scenario, 0, 8, 3);
  add(scenario, 1, 16, 1);
  add(scenario, 2, 1, 1);
  Recorder seen;
  run_scenario(scenario, &seen);
  CHECK(seen.gauges_at(124)[Gauge::kRunningRequests] == 1);
  CHECK(seen.lines.back() == "598 finished 2");
}

TEST_CASE("equal prompts in flight share their full blocks but never their last token") {
  Scenario scenario = blocks_of_four(16);
  scenario.pool.kind = AllocatorKind::kPrefixCached;
  const auto content = std::make_shared<const TokenContent>(
      TokenContent{.prompt_runs = {{.content_id = 1, .length = TokenCount(8)}}});
  add(scenario, 0, 8, 9).content = content;
  add(scenario, 200, 8, 1).content = content;
  Recorder seen;
  const Report report = run_scenario(scenario, &seen);
  // The second block of the prompt is full and cached, but the output of its last token is needed.
  CHECK(report.counters.prefix_hit_tokens == 4);
  CHECK(report.counters.readmitted_hit_tokens == 0);
  CHECK(report.counters.prefill_tokens == 8 + 4);
}

TEST_CASE("a static batch pads its prompts, and keeps every slot to the end of its longest row") {
  Scenario scenario = blocks_of_four(8);
  scenario.options.batching = Batching::kStatic;
  add(scenario, 0, 8, 1);
  add(scenario, 0, 4, 3);
  add(scenario, 1, 4, 1);
  Recorder seen;
  const Report report = run_scenario(scenario, &seen);
  // 100 + 3 * 2 * 8; then two steps with two rows: 9 and 5 tokens, then 9 and 6.
  CHECK(seen.lines == Lines{"0 arrived 0", "0 arrived 1", "0 admitted 0", "0 admitted 1",
                            "1 arrived 2", "148 first token 0", "148 finished 0",
                            "148 first token 1", "385 finished 1", "385 admitted 2",
                            "497 first token 2", "497 finished 2"});
  const StepLoad& prefill = seen.plans.front().load;
  CHECK(prefill.prefill_sequences == 2);
  CHECK(prefill.prefill_tokens == TokenCount(16));
  CHECK(prefill.prefill_kv_tokens == TokenCount(16));
  CHECK(prefill.prefill_pairs == 2 * 36);  // 1 + 2 + ... + 8
  CHECK(seen.gauges_at(148)[Gauge::kUsed] == 12);
  CHECK(seen.gauges_at(384)[Gauge::kHeldBlocks] == 4);
  CHECK(report.counters.requests_finished == 3);
}

}  // namespace
}  // namespace recto::sim
