// The remark on a case that passed alone at first is based on trials of the case that is shown.

#include <algorithm>
#include <memory>
#include <set>
#include <string>

#include "bazel/testing/catch.h"
#include "verify/law_runner.h"
#include "verify/restartable_backend.h"

namespace recto::verify {
namespace {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::StartsWith;

// `broken` numbers the failing calls of the second block. The first is the drawn case. In the
// trials, the second runs alone, the third after the first block, the fourth alone again. From the
// fifth on, calls alone and after the first block alternate, five of each.
DescribedCase kept_of(const std::set<int>& broken, const LawRunOptions& limits = {}) {
  const Restartable library;
  Kept kept;
  kept.options.clock = limits.clock;
  kept.options.all_shrinking_seconds = limits.all_shrinking_seconds;
  const auto calls = std::make_shared<int>(0);
  const Law law = law_where(library, [calls, broken](const Seen& seen) {
    return seen.back() == 20 && broken.contains(++*calls);
  });
  const LawReport report = run_laws({law}, {library.backend}, blocks_of({10, 20}), kept.options);
  REQUIRE(kept.cases.size() == 1);
  CHECK(report.failed() == 1);
  return kept.cases[0];
}

const std::string kOther = "1 other case:\nblock size 10";

TEST_CASE("a case fails only after another if it does so each time, and never alone") {
  const DescribedCase kept = kept_of({1, 3, 6, 8, 10, 12, 14});
  CHECK(kept.after.size() == 1);
  CHECK(kept.remark ==
        "only after other cases: it holds alone in a new process, and fails there after\n" +
            kOther);
}

TEST_CASE("a case that holds once after the other, or fails once alone, does not fail each time") {
  const DescribedCase holding = kept_of({1, 3, 6, 8, 10, 12});
  CHECK(holding.after.size() == 1);
  CHECK(holding.remark ==
        "not each time: alone in a new process it failed 0 of 5 times, and\n4 of 5 times after " +
            kOther);
  const DescribedCase failing = kept_of({1, 3, 6, 8, 9, 10, 12, 14});
  CHECK(failing.after.size() == 1);
  CHECK(failing.remark ==
        "not each time: alone in a new process it failed 1 of 5 times, and\n5 of 5 times after " +
            kOther);
}

TEST_CASE("a case that fails as often alone is kept alone") {
  const DescribedCase sometimes = kept_of({1, 3, 5, 7, 8, 12, 13});
  CHECK(sometimes.after.empty());
  CHECK(sometimes.remark == "not each time: alone in a new process it failed 3 of 5 times");
  const DescribedCase each_time = kept_of({1, 3, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14});
  CHECK(each_time.after.empty());
  CHECK(each_time.remark.empty());
}

TEST_CASE("a case that never fails again is reported with its counts") {
  const DescribedCase kept = kept_of({1, 3});
  CHECK(kept.after.size() == 1);
  CHECK(kept.remark ==
        "not each time: alone in a new process it failed 0 of 5 times, and\n0 of 5 times after " +
            kOther);
}

// Each reading of the clock takes a second.
TEST_CASE("a case whose reduction took all its time is still tried alone") {
  const Restartable library;
  Kept kept;
  kept.options.clock = [now = 0.0]() mutable { return ++now; };
  kept.options.shrinking_seconds = 20;
  const Law law =
      law_where(library, [](const Seen& seen) { return seen.back() >= 30 && has(seen, 20); });
  run_laws({law}, {library.backend}, blocks_of({20, 39}), kept.options);
  REQUIRE(kept.cases.size() == 1);
  CHECK_THAT(kept.cases[0].remark,
             StartsWith("only after other cases: ") &&
                 ContainsSubstring("\nperhaps not fully reduced: the reduction was stopped"));
}

TEST_CASE("a failure says if there was no time for these trials") {
  std::set<std::string> remarks;
  for (int seconds = 1; seconds < 40; ++seconds) {
    LawRunOptions options;
    options.clock = [now = 0.0]() mutable { return ++now; };
    options.all_shrinking_seconds = seconds;
    const DescribedCase kept = kept_of({1, 3, 6, 8, 10, 12, 14}, options);
    INFO(kept.remark);
    const bool is_sure = kept.remark.starts_with("only after");
    if (kept.remark.starts_with("perhaps"))
      CHECK_THAT(kept.remark, ContainsSubstring("; further trials were stopped after "));
    const bool is_once = kept.remark.starts_with("once so far: ");
    CHECK((is_once || is_sure || kept.remark.starts_with("perhaps only after other cases: ")));
    remarks.insert(kept.remark.substr(0, kept.remark.find(';')));
  }
  CHECK(
      remarks.contains("perhaps only after other cases: it holds alone in a new process, and fails "
                       "there after\n1 other case:\nblock size 10"));
  CHECK(std::ranges::any_of(remarks, [](const std::string& remark) {
    return remark.starts_with(
               "perhaps only after other cases: alone in a new process it failed 0 of ") &&
           remark.find(" times, and\n3 of 3 times after 1 other case") != std::string::npos;
  }));
}

}  // namespace
}  // namespace recto::verify
