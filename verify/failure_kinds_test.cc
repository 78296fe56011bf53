// Crashes, calls that never return and wrong numbers are failures of different kinds: none hides
// another.

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"
#include "verify/law_runner.h"
#include "verify/restartable_backend.h"

namespace recto::verify {
namespace {

using Catch::Matchers::ContainsSubstring;

Backend named(const std::string& name) {
  Backend backend;
  backend.name = name;
  return backend;
}

// A law whose only call fails for some block sizes, as `call` says.
Law breaking(const std::function<std::optional<Failed>(std::int64_t block_size)>& call) {
  return {.name = "calls",
          .statement = "calls come back",
          .why_not_applicable = [](const LawCase&) { return std::optional<std::string>(); },
          .check =
              [call](const Backend&, const LawCase& law_case, BoundKind) {
                LawVerdict verdict;
                verdict.comparison.elements = 1;
                verdict.call_failure = call(law_case.placement.block_size);
                return verdict;
              }};
}

// Block size `size`, then 10 less, and so on, down to at most 10.
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

CaseSource blocks(std::int64_t first, std::int64_t last) {
  return [last, next = first]() mutable -> std::optional<DescribedCase> {
    if (next > last) return std::nullopt;
    return shrinking_block(next++);
  };
}

TEST_CASE("a call that never came back does not shrink to one that returned a status") {
  const Law law = breaking([](std::int64_t block_size) {
    return block_size > 30 ? Failed{"time-out", "did not return"} : Failed{"status", "returned 99"};
  });
  const DescribedCase smallest = shrink_failure(law, named("a"), shrinking_block(55), {});
  CHECK(smallest.description == "block size 35");
}

TEST_CASE("each kind of failure is shown, even if it occurs only during the reduction of another") {
  const Law law = breaking([](std::int64_t block_size) -> std::optional<Failed> {
    if (block_size > 30) return Failed{"SIGSEGV", "was ended by SIGSEGV"};
    if (block_size > 10) return Failed{"time-out", "did not return"};
    return std::nullopt;
  });
  std::vector<std::string> kinds;
  LawRunOptions options{.failures_kept = 1};
  options.keep = [&kinds](const Law&, const Backend&, const DescribedCase& smallest,
                          const LawVerdict& verdict) {
    kinds.push_back(verdict.kind());
    return smallest.replay;
  };
  const LawReport report = run_laws({law}, {named("a")}, blocks(55, 57), options);
  CHECK(report.failed() == 3);
  CHECK(kinds == std::vector<std::string>{"SIGSEGV", "time-out"});
  REQUIRE(report.failures.size() == 2);
  CHECK_THAT(report.failures[0], ContainsSubstring("\n  block size 35\na call failed\n"));
  CHECK_THAT(report.failures[1], ContainsSubstring("\n  block size 15\na call failed\n"));
  const std::map<std::string, FailureCount>& counts = report.counts.at(0).failures;
  CHECK(counts.at("SIGSEGV").cases == 3);
  CHECK(counts.at("SIGSEGV").shown == 1);
  CHECK(counts.at("time-out").cases == 0);
  CHECK(counts.at("time-out").met_shrinking == 1);
}

TEST_CASE("each kind of failure is shown up to the limit, though another kind came first") {
  const Law law = breaking([](std::int64_t block_size) {
    return block_size % 2 == 0 ? Failed{"SIGSEGV", "was ended by SIGSEGV"}
                               : Failed{"time-out", "did not return"};
  });
  const LawReport report = run_laws({law}, {named("a")}, blocks(1, 9), {.failures_kept = 2});
  CHECK(report.failures.size() == 4);
  CHECK(report.counts.at(0).failures.at("SIGSEGV").cases == 4);
  CHECK(report.counts.at(0).failures.at("time-out").cases == 5);
}

}  // namespace
}  // namespace recto::verify
