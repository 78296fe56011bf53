// Tests of the text on failures that are not shown, and on reasons that are not listed.

#include "experiments/verify/verify_text.h"

#include <sstream>
#include <string>

#include "bazel/testing/catch.h"

namespace recto::experiments {
namespace {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::StartsWith;

// One law of attention, on a backend that computes it and on one that does not.
Selection small_selection() {
  Selection selection;
  for (const char* name : {"attends", "writes"}) {
    verify::ListedBackend listed;
    listed.backend.name = name;
    selection.backends.push_back(listed);
  }
  selection.backends[0].backend.attend =
      verify::always_done([](const PagedAttentionInputs&) { return reference::AttentionResult(); });
  selection.laws.emplace_back().name = "oracle";
  return selection;
}

VerifyOutcome outcome_of(std::int64_t failed, std::size_t shown) {
  VerifyOutcome outcome;
  verify::LawCount attends;
  attends.law = "oracle";
  attends.backend = "attends";
  attends.failed = failed;
  attends.held = 3;
  verify::LawCount writes;
  writes.law = "oracle";
  writes.backend = "writes";
  writes.skipped["it writes K and V, and computes no attention"] = 40;
  outcome.report.counts = {attends, writes};
  for (std::size_t i = 0; i < shown; ++i) outcome.report.failures.push_back("a block\n");
  return outcome;
}

std::string text_of(const VerifyOutcome& outcome, std::int64_t failures_kept = 1) {
  const VerifyOptions options{.failures_kept = failures_kept, .folder = "kept"};
  return verify_text(small_selection(), options, outcome);
}

TEST_CASE("the text has the number of failures, how many are shown, and how to see more") {
  const std::string text = text_of(outcome_of(161, 2));
  CHECK_THAT(
      text, ContainsSubstring("\nFailed: 161 checks, 2 of them shown below and kept in kept, fully "
                              "reduced\nShown are the first of each kind, law and backend, because "
                              "others mostly have the same cause;\n  --failures N shows N of each\n"
                              "\na block\n\na block\n"));
  CHECK_THAT(text_of(outcome_of(161, 6), 3), ContainsSubstring("the first 3 of each kind, law"));
  CHECK_THAT(text_of(outcome_of(2, 2)),
             ContainsSubstring("Failed: 2 checks, all shown below and kept in kept"));
  CHECK_THAT(text_of(outcome_of(0, 0)), !ContainsSubstring("Failed"));
}

TEST_CASE("the text says how many of the failures shown may get smaller") {
  VerifyOutcome outcome = outcome_of(161, 2);
  CHECK_THAT(text_of(outcome), !ContainsSubstring("perhaps not fully reduced"));
  outcome.report.cut_short = 1;
  CHECK_THAT(
      text_of(outcome),
      ContainsSubstring("\nShown but perhaps not fully reduced, with the reason: 1\n\na block") &&
          !ContainsSubstring("kept, fully reduced"));
  CHECK(verify_json(small_selection(), {}, outcome)["cut_short"] == 1);
}

TEST_CASE("one failure is counted in the singular, and lines fit a terminal with any folder") {
  VerifyOutcome outcome = outcome_of(1, 1);
  outcome.cases = 1;
  const std::string text = text_of(outcome);
  CHECK_THAT(text, StartsWith("1 case, seed "));
  CHECK_THAT(text,
             ContainsSubstring(
                 "\nFailed: 1 check, shown below and kept in kept, fully reduced\n\na block"));
  const VerifyOptions options{.folder = std::string(60, 'f')};
  std::istringstream lines(verify_text(small_selection(), options, outcome_of(12345, 10)));
  for (std::string line; std::getline(lines, line);) CHECK(line.size() <= 100);
}

TEST_CASE("overwritten files of an earlier run are named") {
  VerifyOutcome outcome = outcome_of(2, 2);
  outcome.replaced = {"kept/a.json"};
  CHECK_THAT(
      text_of(outcome),
      ContainsSubstring(
          "\nOverwritten, with another case of an earlier run in it:\n  kept/a.json\n\na block"));
}

TEST_CASE("failed checks are counted by kind, and apart from kinds found while reducing") {
  VerifyOutcome outcome = outcome_of(9, 3);
  auto& kinds = outcome.report.counts[0].failures;
  kinds["wrong numbers"] = {.cases = 9, .shown = 1};
  CHECK_THAT(text_of(outcome), !ContainsSubstring("Kinds of failure"));
  kinds["wrong numbers"].cases = 5;
  kinds["SIGSEGV"] = {.cases = 4, .shown = 1};
  kinds["time-out"] = {.shown = 1, .met_shrinking = 1};
  const std::string text = text_of(outcome);
  CHECK_THAT(text, ContainsSubstring("\nKinds of failure, and the checks that ended in them\n"
                                     "  attends: SIGSEGV 4, wrong numbers 5\n"
                                     "    found while reducing these: time-out 1\n"));
  CHECK_THAT(text, ContainsSubstring("\nFailed: 9 checks, 2 of them shown below"));
  CHECK_THAT(text,
             ContainsSubstring("\nFound while reducing these, of other kinds, and shown: 1\n"));
  CHECK_THAT(text, !ContainsSubstring("Reduced to a case that is shown"));
  kinds["SIGSEGV"].shrunk_to_shown = 2;
  CHECK_THAT(text_of(outcome), ContainsSubstring("\nReduced to a case that is shown: 2\n"));
  const auto json = verify_json(small_selection(), {}, outcome);
  CHECK(json["counts"][0]["failed_by_kind"]["SIGSEGV"]["shrunk_to_shown"] == 2);
  CHECK(json["counts"][0]["failed_by_kind"]["SIGSEGV"]["cases"] == 4);
  CHECK(json["counts"][0]["failed_by_kind"]["time-out"]["met_shrinking"] == 1);
}

TEST_CASE("biased outputs are a note, and no failure") {
  VerifyOutcome outcome = outcome_of(0, 0);
  CHECK_THAT(text_of(outcome), !ContainsSubstring("Note"));
  outcome.biased["attends"] = {.type = ElementType::kBf16, .ulps = 0.5, .contexts = 320};
  CHECK_THAT(text_of(outcome), ContainsSubstring("\nNote: outputs of attends in bf16 lie 0.50 ulp "
                                                 "towards zero on average, over 320 contexts"));
  CHECK(verify_json(small_selection(), {}, outcome)["biased"][0]["ulps_towards_zero"] == 0.5);
}

TEST_CASE("skips of laws that never apply are one number, and those for rare reasons another") {
  VerifyOutcome outcome = outcome_of(0, 0);
  for (int i = 1; i <= 12; ++i)
    outcome.report.counts[0].skipped[std::string("reason ") + static_cast<char>('a' + i)] = i;
  const std::string text = text_of(outcome);
  CHECK_THAT(
      text, ContainsSubstring("      40  the law never applies to the backend, as listed above\n"));
  CHECK_THAT(text, !ContainsSubstring("it writes K and V"));
  CHECK_THAT(text, ContainsSubstring("      12  reason m\n      11  reason l\n"));
  // 1 + 2 + 3 + 4 times.
  CHECK_THAT(text, ContainsSubstring(
                       "       5  reason f\n      10  for 4 other reasons, listed by --json\n"));
  const auto json = verify_json(small_selection(), {}, outcome);
  CHECK(json["counts"][0]["skipped"].size() == 12);
  CHECK(json["counts"][1]["skipped"].size() == 1);
}

}  // namespace
}  // namespace recto::experiments
