// A user's view of a faulty kernel: the smallest failing case, as a readable block.

#include <optional>
#include <string>

#include "bazel/testing/catch.h"
#include "verify/drawn_cases.h"
#include "verify/law.h"
#include "verify/law_runner.h"
#include "verify/qa/canary.h"

namespace recto::verify {
namespace {

using Catch::Matchers::ContainsSubstring;

// The first failure of a canary against the oracle, over drawn cases.
std::string first_failure(Fault fault) {
  const LawReport report =
      run_laws({oracle_comparison()}, {canary_backend("canary", fault)},
               drawn_cases({.name = "any", .count = 200}, {}), {.failures_kept = 1});
  return report.failures.empty() ? std::string() : report.failures.front();
}

TEST_CASE("the right backend has no failure") { CHECK(first_failure(Fault::kNone).empty()); }

TEST_CASE("a dropped key shrinks to one row of one head with one key") {
  const std::string text = first_failure(Fault::kLastKeyDropped);
  INFO(text);
  CHECK_THAT(text, ContainsSubstring("law oracle is broken by canary\n"));
  CHECK_THAT(text, ContainsSubstring("replay\n  ./bazelw test --test_env=RECTO_CASE=any:"));
  CHECK_THAT(text, ContainsSubstring("out[sequence 0, row 0, head 0, dim 0], own token in block 0, "
                                     "slot 0\n    seen 0, expected 1, bound "));
}

TEST_CASE("a wrong group mapping shrinks to the fewest heads that have one") {
  const std::string text = first_failure(Fault::kWrongGroup);
  INFO(text);
  // Head 1 of four on two KV heads, which belongs to KV head 0.
  CHECK_THAT(text, ContainsSubstring("head 1, dim 0]"));
}

TEST_CASE("failures that shrink to the same case show it once") {
  Backend refusing = canary_backend("canary", Fault::kNone);
  refusing.attend = [](const PagedAttentionInputs&, const CallOptions&) {
    return Failed{"status", "returned 99"};
  };
  // Returns the same drawn case every time.
  const auto same_case = [drawn = drawn_case({.name = "any", .count = 200}, 0),
                          left = 5]() mutable -> std::optional<DescribedCase> {
    if (left-- == 0) return std::nullopt;
    return drawn;
  };
  const LawReport report =
      run_laws({oracle_comparison()}, {refusing}, same_case, {.failures_kept = 3});
  CHECK(report.failed() == 5);
  CHECK(report.failures.size() == 1);
  const FailureCount& counted = report.counts.at(0).failures.at("status");
  CHECK(counted.shown == 1);
  CHECK(counted.shrunk_to_shown == 2);
}

TEST_CASE("another law starts its reduction at the case already shown, if that is asked for") {
  int checks[2] = {};
  for (const bool is_asked : {false, true}) {
    Law again = oracle_comparison();
    again.name = "again";
    again.check = [&, check = again.check](const Backend& backend, const LawCase& law_case,
                                           BoundKind bound_kind) {
      ++checks[is_asked ? 1 : 0];
      return check(backend, law_case, bound_kind);
    };
    const LawReport report =
        run_laws({oracle_comparison(), again}, {canary_backend("canary", Fault::kLastKeyDropped)},
                 drawn_cases({.name = "any", .count = 10}, {}),
                 {.failures_kept = 1, .begins_at_shown_cases = is_asked});
    REQUIRE(report.failures.size() == 2);
    for (const std::string& failure : report.failures)
      CHECK_THAT(failure, ContainsSubstring("seen 0, expected 1, bound "));
  }
  CHECK(checks[1] + 10 < checks[0]);
}

TEST_CASE("a tail that is read shrinks to a block with one slot to spare") {
  const std::string text = first_failure(Fault::kTailRead);
  INFO(text);
  CHECK_THAT(text, ContainsSubstring("expected 1, bound "));
}

}  // namespace
}  // namespace recto::verify
