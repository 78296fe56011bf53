// Failures that depend on earlier calls: the remark on them, and the case that is kept.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bazel/testing/catch.h"
#include "verify/law_runner.h"
#include "verify/restartable_backend.h"

namespace recto::verify {
namespace {

using Catch::Matchers::ContainsSubstring;

TEST_CASE("a case that fails alone is reduced in a backend that is restarted for each trial") {
  const Restartable library;
  Kept kept;
  const Law law = law_where(library, [](const Seen& seen) { return seen.back() >= 33; });
  const LawReport report =
      run_laws({law}, {library.backend}, blocks_of({10, 20, 37}), kept.options);
  REQUIRE(kept.cases.size() == 1);
  CHECK(kept.cases[0].law_case.placement.block_size == 33);
  CHECK(kept.cases[0].after.empty());
  CHECK(kept.cases[0].remark.empty());
  CHECK(*library.restarts == 7);  // for the case itself, then for 36 to 32, and afterwards
  CHECK(report.failures[0].find("\nfails\n") == std::string::npos);
}

TEST_CASE("a case that fails only after another is kept with it, and with no third") {
  const Restartable library;
  Kept kept;
  const std::vector<Law> laws = {law_where(library, [](const Seen& seen) {
    return seen.back() >= 33 && has(seen, 20) && seen.size() > 1;
  })};
  const std::vector<Backend> backends = {library.backend};
  const LawReport report = run_laws(laws, backends, blocks_of({10, 20, 12, 11, 37}), kept.options);
  REQUIRE(kept.cases.size() == 1);
  CHECK(kept.cases[0].law_case.placement.block_size == 33);
  REQUIRE(kept.cases[0].after.size() == 1);
  CHECK(kept.cases[0].after[0]->description == "block size 20");
  CHECK_THAT(
      report.failures[0],
      ContainsSubstring("\nfails\n  only after other cases: it holds alone in a new process, "
                        "and fails there after\n  1 other case:\n  block size 20\nreplay\n"
                        "  replay it\n"));
}

TEST_CASE("a case that fails once, and not again, is reported as such, and is not reduced") {
  const Restartable library;
  Kept kept;
  const auto times = std::make_shared<int>(0);
  const Law law =
      law_where(library, [times](const Seen& seen) { return seen.back() == 37 && ++*times == 1; });
  const LawReport report =
      run_laws({law}, {library.backend}, blocks_of({10, 20, 37}), kept.options);
  CHECK(report.failed() == 1);
  CHECK(report.cut_short == 1);
  REQUIRE(kept.cases.size() == 1);
  CHECK(kept.cases[0].law_case.placement.block_size == 37);
  CHECK_THAT(report.failures[0],
             ContainsSubstring("\nfails\n  once, and not again: it holds alone in a new process, "
                               "and does not fail after the 2 cases before it"));
}

TEST_CASE("a case that is refused alone, and fails only after another, is kept with that") {
  const Restartable library;
  Kept kept;
  Law law = law_where(library, [](const Seen& seen) { return seen.back() >= 33 && has(seen, 20); });
  law.check = [check = law.check, seen = library.seen](const Backend& backend,
                                                       const LawCase& law_case, BoundKind bound) {
    LawVerdict verdict = check(backend, law_case, bound);
    if (!verdict.failed() && seen->back() >= 33) verdict.skipped = "odd";
    return verdict;
  };
  run_laws({law}, {library.backend}, blocks_of({20, 37}), kept.options);
  REQUIRE(kept.cases.size() == 1);
  CHECK(kept.cases[0].after.size() == 1);
  CHECK_THAT(
      kept.cases[0].remark,
      ContainsSubstring("only after other cases: it is skipped alone in a new process (odd), "
                        "and fails there after\n1 other case:"));
}

TEST_CASE("a backend that cannot be restarted is taken as it is") {
  Restartable library;
  library.backend.restart = nullptr;
  Kept kept;
  const Law law = law_where(library, [](const Seen& seen) { return has(seen, 20); });
  run_laws({law}, {library.backend}, blocks_of({20, 37}), kept.options);
  REQUIRE(kept.cases.size() == 2);
  CHECK(kept.cases[1].law_case.placement.block_size == 30);
  CHECK(kept.cases[1].remark.empty());
}

// A call is late if `is_late` returns true for the block sizes seen; the machine may be to blame.
Law late_where(const Restartable& library, std::function<bool(const Seen&)> is_late) {
  return law_where(library, std::move(is_late), Failed{kTimeOut, "late", /*may_be_machine=*/true});
}

TEST_CASE("a call that is late once is repeated after the same checks, and holds") {
  const Restartable library;
  const auto late = std::make_shared<std::vector<Seen>>();
  const Law law = late_where(library, [late](const Seen& seen) {
    if (seen.back() == 37) late->push_back(seen);
    return seen.back() == 37 && late->size() == 1;
  });
  const LawReport report = run_laws({law}, {library.backend}, blocks_of({10, 20, 37, 11}), {});
  CHECK(report.failed() == 0);
  CHECK(report.counts[0].held == 4);
  CHECK(*late == std::vector<Seen>{{10, 20, 37}, {10, 20, 37}});
  CHECK(*library.restarts == 2);  // for the retry, and afterwards
}

TEST_CASE("a case in which a call was late is not given to other laws, but the next cases are") {
  const Restartable library;
  Law late = law_where(
      library, [](const Seen& seen) { return seen.back() == 30; }, Failed{kTimeOut, "hangs"});
  late.name = "late";
  const Law other = law_where(library, [](const Seen&) { return false; });
  const LawReport report = run_laws({late, other}, {library.backend}, blocks_of({30, 20}), {});
  CHECK(report.counts[0].failed == 1);
  CHECK(report.counts[1].held == 1);
  CHECK(report.counts[1].skipped.at("one of its calls for this case did not return") == 1);
}

TEST_CASE("a call that is late again after the same checks fails, and is kept with these checks") {
  const Restartable library;
  Kept kept;
  const Law law =
      late_where(library, [](const Seen& seen) { return seen.back() >= 33 && has(seen, 20); });
  const LawReport report =
      run_laws({law}, {library.backend}, blocks_of({20, 12, 37}), kept.options);
  CHECK(report.failed() == 1);
  REQUIRE(kept.cases.size() == 1);
  CHECK(kept.cases[0].law_case.placement.block_size == 33);
  REQUIRE(kept.cases[0].after.size() == 1);
  CHECK(kept.cases[0].after[0]->description == "block size 20");
}

// For laws that fail in every eighth call; drawing a case makes a call that no check repeats.
LawReport report_of_eighths(const Restartable& library, const Law& law, const Kept& kept) {
  return run_laws(
      {law}, {library.backend},
      [seen = library.seen, cases = 0]() mutable -> std::optional<DescribedCase> {
        if (++cases > 4) return std::nullopt;
        seen->push_back(1);
        return block_of(20 + cases);
      },
      kept.options);
}

TEST_CASE("a failure of each eighth call is kept with the same case repeated before it") {
  const Restartable library;
  const auto is_eighth = [](const Seen& seen) { return seen.size() % 8 == 0; };
  const Law wrong = law_where(library, is_eighth);
  const Law hanging = law_where(library, is_eighth, Failed{kTimeOut, "hangs"});
  for (const Law& law : {wrong, hanging}) {
    Kept kept;
    library.backend.restart(CallsAre::kOfDrawnCases);
    const LawReport report = report_of_eighths(library, law, kept);
    CHECK(report.failed() == 1);
    REQUIRE(kept.cases.size() == 1);
    CHECK(kept.cases[0].after.size() == 7);
    CHECK_THAT(report.failures[0],
               ContainsSubstring("fails there after\n  7 other cases, in this order:\n  7 times\n"
                                 "  block size 24\n"));
  }
}

}  // namespace
}  // namespace recto::verify
