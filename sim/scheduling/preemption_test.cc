// Tests of which request is preempted, how, and when it resumes, on examples that can be checked by
// hand. Blocks of 4 slots; a step takes 100 ns, plus 3 per prefilled token, 2 per decoding sequence
// and 1 per KV token read.

#include <algorithm>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "sim/testing/audit.h"
#include "sim/testing/recorder.h"
#include "sim/testing/scenario.h"

namespace recto::sim {
namespace {

using Lines = std::vector<std::string>;

struct Lengths {
  std::int64_t prompt = 1;
  std::int64_t output = 1;
};

// All arrive at time 0.
Scenario crowd(std::int64_t blocks, const std::vector<Lengths>& lengths) {
  Scenario scenario;
  scenario.pool.slots = TokenCount(4 * blocks);
  scenario.pool.block_size = TokenCount(4);
  scenario.options.host_bandwidth_bytes_per_s = 1e9;  // 1 ns a slot
  for (const Lengths& length : lengths) {
    scenario.requests.push_back({.id = static_cast<std::int64_t>(scenario.requests.size()),
                                 .prompt_tokens = TokenCount(length.prompt),
                                 .output_tokens = TokenCount(length.output)});
  }
  return scenario;
}

Scenario with_host(Scenario scenario, std::int64_t slots) {
  scenario.options.scheduler.preemption = PreemptionRule::kSwap;
  scenario.options.scheduler.host_pool = TokenCount(slots);
  return scenario;
}

std::int64_t count_plans(const Recorder& seen, StepPlan::Kind kind) {
  return std::count_if(seen.plans.begin(), seen.plans.end(),
                       [kind](const StepPlan& plan) { return plan.kind == kind; });
}

TEST_CASE("the latest arrivals are preempted, requeued first, and not readmitted in that step") {
  const Scenario scenario = crowd(5, {{8, 3}, {8, 2}, {4, 2}});
  Recorder seen;
  const Report report = run_scenario(scenario, &seen);
  // At 160 all five blocks are full. Request 0 takes the block of request 2; request 1 finds none
  // and is preempted itself. Two blocks are then free: enough for request 2, but not for request 1.
  CHECK(seen.lines == Lines{"0 arrived 0", "0 arrived 1", "0 arrived 2", "0 admitted 0",
                            "0 admitted 1", "0 admitted 2", "160 first token 0",
                            "160 first token 1", "160 first token 2", "160 forgotten 2",
                            "160 forgotten 1", "383 finished 0", "383 admitted 1", "383 admitted 2",
                            "525 finished 1", "525 finished 2"});
  CHECK(seen.gauges_at(160)[Gauge::kBlockedFree] == 8);
  CHECK(seen.gauges_at(271)[Gauge::kBlockedFree] == 8);
  CHECK(report.counters.preemptions_recompute == 2);
  CHECK(report.counters.recomputed_tokens == 12);
  CHECK(report.counters.prefill_tokens == 20 + 9 + 5);
  CHECK(report.counters.output_tokens == 7);
}

TEST_CASE("a step that preempts admits no request, even if its first chunk would fit") {
  Scenario scenario = crowd(5, {{8, 8}, {12, 1}});
  scenario.options.scheduler.max_sequences = 8;
  scenario.options.scheduler.max_batched_tokens = TokenCount(8);
  scenario.options.scheduler.admission = AdmissionRule::kFirstChunk;
  Recorder seen;
  run_scenario(scenario, &seen);
  // At 256 request 1 lacks a block for its second chunk and returns the two blocks of its first
  // chunk.
  REQUIRE(std::find(seen.lines.begin(), seen.lines.end(), "256 forgotten 1") != seen.lines.end());
  CHECK(seen.gauges_at(256)[Gauge::kRunningRequests] == 1);
  CHECK(seen.gauges_at(256)[Gauge::kFree] == 8);
  CHECK(seen.gauges_at(256)[Gauge::kBlockedFree] == 0);  // the rule keeps it out, not memory
}

TEST_CASE("a preempted request finds its own blocks again, and prefills only the rest") {
  Scenario scenario = crowd(5, {{8, 3}, {8, 2}, {4, 2}});
  scenario.pool.kind = AllocatorKind::kPrefixCached;
  Recorder seen;
  const Report report = run_scenario(scenario, &seen);
  // Request 0 evicted the block of request 2; both blocks of request 1 were still cached.
  CHECK(report.counters.prefix_hit_tokens == 8);
  CHECK(report.counters.readmitted_hit_tokens == 8);
  CHECK(report.counters.prefix_query_tokens == 20 + 9 + 5);
  CHECK(report.counters.readmitted_query_tokens == 9 + 5);
  CHECK(report.counters.recomputed_tokens == 4);
  CHECK(report.counters.prefill_tokens == 20 + 1 + 5);
  CHECK(seen.gauges_at(160)[Gauge::kCached] == 8);
  CHECK(seen.lines.back() == "501 finished 2");  // 383 + 100 + 3 * (1 + 5)
}

TEST_CASE("a readmitted request finds blocks of its own output in the prefix cache") {
  // Request 1 has filled a block with output tokens when request 0 takes the last block.
  Scenario scenario = crowd(5, {{8, 9}, {3, 9}});
  scenario.pool.kind = AllocatorKind::kPrefixCached;
  const Report report = run_scenario(scenario, nullptr);
  CHECK(report.counters.preemptions_recompute == 1);
  CHECK(report.counters.readmitted_hit_tokens == 4);
}

TEST_CASE("slots in flight to the host stay used until their copy ends") {
  const Scenario scenario = with_host(crowd(4, {{8, 3}, {8, 3}}), 16);
  Recorder seen;
  const Report report = run_scenario(scenario, &seen);
  CHECK(seen.lines == Lines{"0 arrived 0", "0 arrived 1", "0 admitted 0", "0 admitted 1",
                            "148 first token 0", "148 first token 1", "148 swapped 1",
                            "380 finished 0", "389 admitted 1", "612 finished 1"});
  // 8 slots at 1 ns take 9 ns each way: a transfer takes 1 ns more than the time rounded down.
  CHECK(seen.gauges_at(148)[Gauge::kUsed] == 16);
  CHECK(seen.gauges_at(148)[Gauge::kHostReserved] == 8);
  CHECK(seen.gauges_at(148)[Gauge::kHostUsed] == 0);
  CHECK(seen.gauges_at(148)[Gauge::kHostFree] == 8);
  CHECK(seen.gauges_at(157)[Gauge::kUsed] == 8);
  CHECK(seen.gauges_at(157)[Gauge::kHostUsed] == 8);
  CHECK(seen.gauges_at(380)[Gauge::kUsed] == 0);
  CHECK(seen.gauges_at(380)[Gauge::kReserved] == 8);
  CHECK(seen.gauges_at(389)[Gauge::kUsed] == 8);
  CHECK(seen.gauges_at(380)[Gauge::kHostUsed] == 8);
  CHECK(seen.gauges_at(389)[Gauge::kHostFree] == 16);
  CHECK(report.time_spent.swap == SimDuration(18));
  CHECK(report.counters.recomputed_tokens == 0);
  CHECK(report.counters.swapped_out_slots == 8);
  CHECK(report.counters.swapped_in_slots == 8);
}

TEST_CASE("a swapped request waits until there is room for its next token too") {
  // Request 1 stops because it lacks a third block, and leaves exactly its two blocks.
  const Scenario scenario = with_host(crowd(5, {{8, 3}, {8, 3}}), 16);
  Recorder seen;
  const Report report = run_scenario(scenario, &seen);
  CHECK(count_plans(seen, StepPlan::Kind::kSwapOut) == 1);
  CHECK(count_plans(seen, StepPlan::Kind::kSwapIn) == 1);
  CHECK(seen.gauges_at(157)[Gauge::kFree] == 8);
  CHECK(seen.gauges_at(157)[Gauge::kBlockedFree] == 8);
  CHECK(report.counters.requests_finished == 2);
}

TEST_CASE("a swapped request returns when it and the watermark need the whole pool") {
  Scenario scenario = with_host(crowd(4, {{3, 6}, {8, 5}}), 16);
  scenario.options.scheduler.watermark = TokenCount(4);
  Recorder seen;
  const Report report = run_scenario(scenario, &seen);
  CHECK(report.counters.preemptions_swap == 1);
  CHECK(report.counters.swapped_out_slots == 12);  // three blocks; the fourth is the watermark
  CHECK(report.counters.requests_finished == 2);
}

TEST_CASE("preemption falls back to recompute if the host has no room") {
  CHECK(run_scenario(with_host(crowd(4, {{8, 3}, {8, 3}}), 8), nullptr).counters.preemptions_swap ==
        1);
  const Report report = run_scenario(with_host(crowd(4, {{8, 3}, {8, 3}}), 7), nullptr);
  CHECK(report.counters.preemptions_swap == 0);
  CHECK(report.counters.preemptions_recompute == 1);
  CHECK(report.counters.requests_finished == 2);
}

TEST_CASE("the sequences of a group are preempted together") {
  Scenario scenario = crowd(5, {{8, 3}, {4, 3}});
  scenario.requests[1].decoding = Decoding::kParallel;
  scenario.requests[1].width = 2;
  Recorder seen;
  const Report report = run_scenario(scenario, &seen);
  // At 136 request 0 takes a block and the first sample another; the second sample finds none.
  CHECK(seen.gauges_at(0)[Gauge::kRunningSequences] == 3);
  CHECK(seen.gauges_at(136)[Gauge::kRunningSequences] == 1);
  CHECK(seen.gauges_at(136)[Gauge::kHeldBlocks] == 3);
  CHECK(report.counters.output_tokens == 3 + 2 * 3);
}

TEST_CASE("samples share their prompt, and copy its last block when they begin to differ") {
  Scenario scenario = crowd(8, {{6, 3}});
  scenario.requests[0].decoding = Decoding::kParallel;
  scenario.requests[0].width = 3;
  Recorder seen;
  const Report report = run_scenario(scenario, &seen);
  // Before: two blocks, named by three tables. After: the first block is still shared, the tails
  // are not.
  const GaugeValues forked = seen.gauges_at(118);
  CHECK(forked[Gauge::kTableEntries] == 6);
  CHECK(forked[Gauge::kHeldBlocks] == 4);
  CHECK(forked[Gauge::kUsed] == 4 + 3 * 2);
  CHECK(report.counters.copied_slots == 2 * 4);
  std::vector<std::int64_t> copied;  // by step
  for (const StepPlan& plan : seen.plans) copied.push_back(plan.load.copied_slots.value());
  CHECK(copied == std::vector<std::int64_t>{0, 2 * 4, 0});
  CHECK(report.counters.decode_tokens == 3 * 2);
}

}  // namespace
}  // namespace recto::sim
