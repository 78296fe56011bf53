// A run whose device is lost: which case is reported, and how the report counts everything that did
// not run.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "core/contract.h"
#include "verify/law_runner.h"

namespace recto::verify {
namespace {

using Catch::Matchers::ContainsSubstring;

// Throws for blocks of 10 slots or more.
Law throwing(const std::string& name) {
  return {.name = name,
          .statement = "blocks are small",
          .why_not_applicable = [](const LawCase&) { return std::optional<std::string>(); },
          .check =
              [](const Backend&, const LawCase& law_case, BoundKind) {
                RECTO_CHECK_LT(law_case.placement.block_size, 10);
                LawVerdict verdict;
                verdict.comparison.elements = 1;
                return verdict;
              },
          .why_never = [](const Backend&) { return std::optional<std::string>(); }};
}

Backend named(const std::string& name) {
  Backend backend;
  backend.name = name;
  return backend;
}

// Block size `size`, then 10 less, and so on.
DescribedCase shrinking_block(std::int64_t size) {
  DescribedCase described;
  described.law_case.placement.block_size = size;
  described.description = "block size " + std::to_string(size);
  described.replay = "replay it";
  if (size > 10) {
    described.simpler_cases = [size] {
      return std::vector<std::function<DescribedCase()>>{
          [size] { return shrinking_block(size - 10); }};
    };
  }
  return described;
}

// Up to `cases_max` cases of blocks of 25 slots; counts in `drawn`.
CaseSource blocks_of_25(int& drawn, int cases_max = 1000) {
  return [&drawn, cases_max]() -> std::optional<DescribedCase> {
    if (drawn == cases_max) return std::nullopt;
    ++drawn;
    return shrinking_block(25);
  };
}

TEST_CASE("a run ends with the failure after which nothing can run, and lists what was not run") {
  int drawn = 0;
  int asked = 0;
  LawRunOptions options;
  options.why_lost = [&]() -> std::optional<std::string> {
    ++asked;
    return "an illegal address";
  };
  const LawReport report = run_laws({throwing("first"), throwing("second")},
                                    {named("a"), named("b")}, blocks_of_25(drawn), options);
  CHECK(drawn == 1);
  CHECK(asked == 1);
  CHECK_FALSE(report.passed());
  CHECK(report.failed() == 1);
  CHECK(report.lost == "law first on a: an illegal address");
  REQUIRE(report.failures.size() == 1);
  // Unshrunk: no smaller case can be tried.
  CHECK_THAT(report.failures[0], ContainsSubstring("\n  block size 25\na call failed\n  "));
  CHECK_THAT(report.failures[0], ContainsSubstring("\nreplay\n  replay it\nnothing was run after "
                                                   "it\n  an illegal address\n"));
  for (const std::size_t later : {1, 2, 3}) {
    CHECK(report.counts[later].ran() == 0);
    CHECK(report.counts[later].skipped.at(
              "not run: the run ended with law first on a: an illegal address") == 1);
  }
  CHECK_THAT(report.table(), ContainsSubstring("ended early     with law first on a: an illegal"));
}

TEST_CASE("the case that loses the device during its reduction is the one that is kept") {
  int drawn = 0;
  int failures = 0;
  LawRunOptions options;
  options.keep = [](const Law&, const Backend&, const DescribedCase& kept, const LawVerdict&) {
    return "replays " + kept.description;
  };
  options.why_lost = [&]() -> std::optional<std::string> {
    if (++failures < 2) return std::nullopt;
    return "an illegal address";
  };
  const LawReport report =
      run_laws({throwing("first")}, {named("a")}, blocks_of_25(drawn), options);
  CHECK(drawn == 1);
  REQUIRE(report.failures.size() == 1);
  CHECK_THAT(report.failures[0], ContainsSubstring("\n  block size 15\na call failed\n  "));
  CHECK_THAT(report.failures[0], ContainsSubstring("\n  replays block size 15\n"));
}

TEST_CASE("a lost device is reported though no further failures are kept") {
  int drawn = 0;
  LawRunOptions options;
  options.failures_kept = 0;
  options.why_lost = [&]() -> std::optional<std::string> {
    if (drawn < 3) return std::nullopt;
    return "an illegal address";
  };
  const LawReport report =
      run_laws({throwing("first")}, {named("a")}, blocks_of_25(drawn), options);
  CHECK(drawn == 3);
  CHECK(report.failed() == 3);
  CHECK(report.failures.size() == 1);
}

TEST_CASE("failures that do not lose the device do not end a run") {
  int drawn = 0;
  LawRunOptions options;
  options.why_lost = [] { return std::optional<std::string>(); };
  const LawReport report =
      run_laws({throwing("first")}, {named("a")}, blocks_of_25(drawn, 3), options);
  CHECK(report.failed() == 3);
  CHECK_FALSE(report.lost.has_value());
}

}  // namespace
}  // namespace recto::verify
