// The law on a pairwise cover of settings, and in pools that preempt all the time. RECTO_FULL=1
// runs five covers, and all combinations of the settings of memory.

#include "verify/engine/testing/engine_law.h"

#include <fmt/format.h>

#include <iostream>
#include <set>
#include <vector>

#include "bazel/testing/catch.h"
#include "verify/kernels/device_call.h"

namespace recto::verify {
namespace {

void add(EngineCounts& sum, const EngineCounts& counts) {
  sum.chunks += counts.chunks;
  sum.recomputes += counts.recomputes;
  sum.swaps += counts.swaps;
  sum.hit_tokens += counts.hit_tokens;
  sum.copied_blocks += counts.copied_blocks;
  sum.shared_blocks += counts.shared_blocks;
  sum.beam_switches += counts.beam_switches;
  sum.graphs += counts.graphs;
  sum.replayed_steps += counts.replayed_steps;
  sum.replayed_drafts += counts.replayed_drafts;
  sum.launched_steps += counts.launched_steps;
  sum.drafted += counts.drafted;
  sum.accepted += counts.accepted;
  sum.partial_rollbacks += counts.partial_rollbacks;
}

// The counts of each scenario, and their sum as the last element.
std::vector<EngineCounts> expect_dense_tokens(const std::vector<EngineScenario>& scenarios) {
  EngineReport report;
  EngineCounts sum;
  std::vector<EngineCounts> counts;
  for (const EngineScenario& scenario : scenarios) {
    const EngineVerdict verdict = judge_engine(draw_scenario(scenario));
    report.add(scenario, verdict, std::cout);
    INFO(scenario.name);
    CHECK(verdict.first.empty());
    CHECK_FALSE(verdict.failed());
    counts.push_back(verdict.counts);
    add(sum, verdict.counts);
  }
  report.sum_up(std::cout);
  CHECK(report.undecided_share() <= kUndecidedMax);
  counts.push_back(sum);
  return counts;
}

// Checks that the law was not vacuous: each event occurred at least once.
void expect_everything_happened(const EngineCounts& sum) {
  CHECK(sum.chunks > 0);
  CHECK(sum.recomputes > 0);
  CHECK(sum.swaps > 0);
  CHECK(sum.hit_tokens > 0);
  CHECK(sum.copied_blocks > 0);
  CHECK(sum.shared_blocks > 0);
  CHECK(sum.beam_switches > 0);
  CHECK(sum.accepted > 0);
  CHECK(sum.drafted > sum.accepted);
  CHECK(sum.partial_rollbacks > 0);
}

TEST_CASE("tokens are those of the dense run, whatever the engine does with its memory") {
  for (unsigned cover = 0; cover < (is_full_run() ? 5 : 1); ++cover)
    expect_everything_happened(expect_dense_tokens(engine_cover(cover)).back());
}

// The values that one scenario has of the settings that engine_product() combines.
std::vector<std::int64_t> crossed(const EngineScenario& scenario) {
  const EngineOptions& options = scenario.options;
  const auto way = 100 * static_cast<std::int64_t>(scenario.traffic.decoding) +
                   (options.draft_tokens > 0 ? 1 : 0);
  const auto memory = 100 * static_cast<std::int64_t>(scenario.pool) +
                      static_cast<std::int64_t>(options.preemption);
  return {way, options.block_size, options.max_batched_tokens, memory,
          static_cast<std::int64_t>(options.caching)};
}

// All pairs of values of two of these settings.
std::set<std::vector<std::int64_t>> pairs_of(const std::vector<EngineScenario>& scenarios) {
  std::set<std::vector<std::int64_t>> pairs;
  for (const EngineScenario& scenario : scenarios) {
    const std::vector<std::int64_t> row = crossed(scenario);
    for (std::size_t a = 0; a < row.size(); ++a) {
      for (std::size_t b = a + 1; b < row.size(); ++b) {
        pairs.insert({static_cast<std::int64_t>(a), static_cast<std::int64_t>(b), row[a], row[b]});
      }
    }
  }
  return pairs;
}

TEST_CASE("every pair of choices from all combinations occurs in the cover that always runs") {
  const auto pairs = pairs_of(engine_product());
  CHECK(pairs.size() ==
        5 * 5 + 5 * 3 + 5 * 3 + 5 * 2 + 5 * 3 + 5 * 3 + 5 * 2 + 3 * 3 + 3 * 2 + 3 * 2);
  CHECK(pairs_of(engine_cover(0)) == pairs);
}

TEST_CASE("tokens are those of the dense run in every combination of memory settings", "[.full]") {
  const std::vector<EngineScenario> all = engine_product();
  CHECK(all.size() == 450);
  expect_everything_happened(expect_dense_tokens(all).back());
}

TEST_CASE("tokens are those of the dense run where contexts are decoded in several splits") {
  std::vector<EngineScenario> scenarios = split_contexts(Splits::kSmall);
  if (is_full_run()) {
    for (const EngineScenario& scenario : split_contexts(Splits::kPlanned))
      scenarios.push_back(scenario);
  } else {
    std::cout << "SKIPPED: contexts of several splits of 256 keys; RECTO_FULL=1 has them\n";
  }
  for (const EngineScenario& scenario : scenarios)
    CHECK(scenario.traffic.prompt_min > 2 * scenario.options.split_size.value_or(256));
  const std::vector<EngineCounts> counts = expect_dense_tokens(scenarios);
  CHECK(counts.back().accepted > 0);
  CHECK(counts.back().replayed_drafts > 0);
}

TEST_CASE("tokens are those of the dense run where requests are preempted every few steps") {
  std::vector<EngineScenario> scenarios;
  for (const EngineScenario& scenario : tiny_pools()) {
    if (is_full_run() || scenario.seed % 3 == 0) scenarios.push_back(scenario);
  }
  if (!is_full_run()) std::cout << "SKIPPED: two of three; RECTO_FULL=1 has them all\n";
  const std::vector<EngineCounts> counts = expect_dense_tokens(scenarios);
  for (std::size_t i = 0; i < scenarios.size(); ++i) {
    INFO(scenarios[i].name);
    const EngineCounts& run = counts[i];
    const std::int64_t preemptions = run.recomputes + run.swaps;
    CHECK(preemptions >= 10);
    CHECK(run.steps <= 10 * preemptions);
    if (scenarios[i].options.draft_tokens > 0) CHECK(run.partial_rollbacks > 0);
  }
}

TEST_CASE("tokens are those of the dense run where decode steps are captured, replayed graphs") {
  const std::vector<EngineScenario> all = replayed_steps();
  if (!is_full_run())
    std::cout << "SKIPPED: all but every 4th of " << all.size() << "; RECTO_FULL=1 has them all\n";
  std::vector<EngineScenario> tried;
  for (std::size_t i = 0; i < all.size(); i += is_full_run() ? 1 : 4) tried.push_back(all[i]);
  const std::vector<EngineCounts> counts = expect_dense_tokens(tried);
  for (std::size_t i = 0; i < tried.size(); ++i) {
    INFO(tried[i].name);
    CHECK(counts[i].replayed_steps > 0);
    CHECK(counts[i].graphs > 0);
  }
  const EngineCounts& sum = counts.back();
  CHECK(sum.replayed_steps > sum.graphs);
  CHECK(sum.replayed_drafts > 0);
  CHECK(sum.partial_rollbacks > 0);
  CHECK(sum.recomputes > 0);
  CHECK(sum.swaps > 0);
  CHECK(sum.copied_blocks > 0);
  std::cout << fmt::format(
      "{} graphs {}, replayed for {} batches with {} drafts; {} batches with parts of prompts, "
      "whose "
      "numbers of rows change, were launched\n",
      sum.graphs, runs_on_gpu() ? "of CUDA" : "of the executor, as no GPU is here",
      sum.replayed_steps, sum.replayed_drafts, sum.launched_steps);
}

}  // namespace
}  // namespace recto::verify
