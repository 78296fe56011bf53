// Trials of failing cases end when time, work or number is used up, and the report says which.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "verify/law_runner.h"
#include "verify/restartable_backend.h"

namespace recto::verify {
namespace {

using Catch::Matchers::ContainsSubstring;

TEST_CASE("a reduction ends at its time limit, and the failure says so") {
  const Restartable library;
  Kept kept;
  kept.options.clock = [now = 0.0]() mutable { return now += 20; };
  const Law law = law_where(library, [](const Seen& seen) { return seen.back() >= 30; });
  const LawReport report = run_laws({law}, {library.backend}, blocks_of({39}), kept.options);
  REQUIRE(kept.cases.size() == 1);
  CHECK(kept.cases[0].law_case.placement.block_size > 30);
  CHECK(kept.cases[0].law_case.placement.block_size < 39);
  CHECK_THAT(report.failures[0],
             ContainsSubstring(
                 "\nfails\n  perhaps not fully reduced: the reduction was stopped after 60 s\n"));
}

// Four of them exceed the minimum work of each failing case.
DescribedCase heavy(DescribedCase described) {
  described.law_case.problem.shape = {
      .num_q_heads = 1, .num_kv_heads = 1, .head_dim_k = 1, .head_dim_v = 1};
  SequenceProblem sequence;
  sequence.num_rows = 1;
  sequence.context_length = 500'000;
  described.law_case.problem.sequences = {sequence};
  if (described.simpler_cases) {
    described.simpler_cases = [simpler = described.simpler_cases] {
      std::vector<std::function<DescribedCase()>> cases;
      for (const auto& make : simpler()) cases.push_back([make] { return heavy(make()); });
      return cases;
    };
  }
  return described;
}

TEST_CASE(
    "a reduction ends at its limit of work or trials, too, is counted, and the failure says so") {
  const Restartable library;
  const Law law = law_where(library, [](const Seen& seen) { return seen.back() >= 30; });
  Kept by_work;
  by_work.options.shrinking_work = 0;
  Kept by_trials;
  by_trials.options.shrinking_trials = 3;
  for (Kept* kept : {&by_work, &by_trials}) {
    const LawReport report = run_laws(
        {law}, {library.backend},
        [cases = 0]() mutable -> std::optional<DescribedCase> {
          if (cases++ > 0) return std::nullopt;
          return heavy(block_of(39));
        },
        kept->options);
    REQUIRE(kept->cases.size() == 1);
    CHECK(kept->cases[0].law_case.placement.block_size > 30);
    CHECK(report.cut_short == 1);
    CHECK_THAT(
        report.failures[0],
        ContainsSubstring("\nfails\n  perhaps not fully reduced: the reduction was stopped ") &&
            ContainsSubstring(kept == &by_work ? "at the work limit" : "after 3 trials\n"));
  }
}

TEST_CASE(
    "all failing cases share a time limit, and those that it cuts short are named and counted") {
  const Restartable library;
  Kept kept;
  const auto now = std::make_shared<double>(0);
  kept.options.clock = [now] { return *now += 5; };
  kept.options.failures_kept = 10;
  const Law law = law_where(library, [](const Seen& seen) { return seen.back() >= 30; });
  const LawReport report =
      run_laws({law}, {library.backend}, blocks_of({39, 39, 39, 39, 39}), kept.options);
  CHECK(report.failed() == 5);
  REQUIRE(kept.cases.size() == 5);
  CHECK(kept.cases[0].law_case.placement.block_size == 30);
  CHECK(kept.cases[4].law_case.placement.block_size == 39);
  CHECK(report.cut_short >= 2);
  CHECK_THAT(report.failures[4],
             ContainsSubstring(
                 "not fully reduced: the reduction was stopped after 120 s of all failing cases"));
}

}  // namespace
}  // namespace recto::verify
