// The law on a cover of settings: any two meet in any two of their values. RECTO_FULL=1 has five
// covers.

#include "verify/engine/engine_law.h"

#include <fmt/format.h>

#include <cstdlib>
#include <iostream>

#include "bazel/testing/catch.h"

namespace recto::verify {
namespace {

unsigned covers() { return std::getenv("RECTO_FULL") == nullptr ? 1 : 5; }

TEST_CASE("tokens are those of the dense run, whatever the engine does with its memory") {
  EngineReport report;
  EngineCounts sum;
  for (unsigned cover = 0; cover < covers(); ++cover) {
    for (const EngineScenario& scenario : engine_cover(cover)) {
      const EngineVerdict verdict = judge_engine(scenario);
      report.add(scenario, verdict, std::cout);
      INFO(scenario.name);
      CHECK(verdict.first.empty());
      CHECK_FALSE(verdict.failed());
      sum.chunks += verdict.counts.chunks;
      sum.recomputes += verdict.counts.recomputes;
      sum.swaps += verdict.counts.swaps;
      sum.hit_tokens += verdict.counts.hit_tokens;
      sum.copied_blocks += verdict.counts.copied_blocks;
      sum.shared_blocks += verdict.counts.shared_blocks;
      sum.beam_switches += verdict.counts.beam_switches;
      sum.drafted += verdict.counts.drafted;
      sum.accepted += verdict.counts.accepted;
    }
  }
  std::cout << fmt::format(
      "{} of {} requests drawn again, as rounding could turn a choice: {:.1f} %\n",
      report.undecided, report.drawn, 100 * report.undecided_share());
  CHECK(report.undecided_share() <= kUndecidedMax);
  // Nothing that the law is about was left out.
  CHECK(sum.chunks > 0);
  CHECK(sum.recomputes > 0);
  CHECK(sum.swaps > 0);
  CHECK(sum.hit_tokens > 0);
  CHECK(sum.copied_blocks > 0);
  CHECK(sum.shared_blocks > 0);
  CHECK(sum.beam_switches > 0);
  CHECK(sum.accepted > 0);
  CHECK(sum.drafted > sum.accepted);
}

}  // namespace
}  // namespace recto::verify
