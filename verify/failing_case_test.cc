// Failures that depend on earlier calls: what is said of them, and what is kept.

#include "verify/law_runner.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bazel/testing/catch.h"

namespace recto::verify {
namespace {

using Catch::Matchers::ContainsSubstring;

// The block sizes that a backend has seen since it was restarted.
using Seen = std::vector<std::int64_t>;

struct Restartable {
  Backend backend;
  std::shared_ptr<Seen> seen = std::make_shared<Seen>();
  std::shared_ptr<int> restarts = std::make_shared<int>(0);

  Restartable() {
    backend.name = "a library";
    backend.restart = [seen = seen, restarts = restarts] {
      seen->clear();
      ++*restarts;
    };
  }
};

bool has(const Seen& seen, std::int64_t size) {
  return std::find(seen.begin(), seen.end(), size) != seen.end();
}

// Broken where `is_broken` says so of what was seen, the last of it just now.
Law law_where(const Restartable& library, std::function<bool(const Seen&)> is_broken) {
  return {.name = "plain",
          .statement = "what came before never matters",
          .why_not_applicable = [](const LawCase&) { return std::optional<std::string>(); },
          .check =
              [seen = library.seen, is_broken](const Backend&, const LawCase& law_case, BoundKind) {
                seen->push_back(law_case.placement.block_size);
                LawVerdict verdict;
                verdict.comparison.elements = 1;
                if (is_broken(*seen)) verdict.found = "a wrong block";
                return verdict;
              }};
}

DescribedCase block_of(std::int64_t size) {
  DescribedCase described;
  described.law_case.placement.block_size = size;
  described.description = "block size " + std::to_string(size);
  described.replay = "replay";
  if (size % 10 > 0) {
    described.simpler_cases = [size] {
      return std::vector<std::function<DescribedCase()>>{[size] { return block_of(size - 1); }};
    };
  }
  return described;
}

CaseSource blocks_of(std::vector<std::int64_t> sizes) {
  return [sizes, next = std::size_t{0}]() mutable -> std::optional<DescribedCase> {
    if (next == sizes.size()) return std::nullopt;
    return block_of(sizes[next++]);
  };
}

struct Kept {
  std::vector<DescribedCase> cases;
  LawRunOptions options;

  Kept() {
    options.keep = [this](const Law&, const Backend&, const DescribedCase& kept,
                          const LawVerdict&) {
      cases.push_back(kept);
      return std::string("replay it");
    };
  }
};

TEST_CASE("a case that fails alone is made small in a backend that is restarted for each trial") {
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
  CHECK(kept.cases[0].after[0].described->description == "block size 20");
  CHECK(kept.cases[0].after[0].law->name == "plain");
  CHECK_THAT(
      report.failures[0],
      ContainsSubstring("\nfails\n  only after other calls: it holds alone in a new process, "
                        "and fails there after\n  1 other check:\n  plain on a library, of\n"
                        "  block size 20\nreplay\n  replay it\n"));
}

TEST_CASE("a case that fails once, and not again, is said to, and is not made small") {
  const Restartable library;
  Kept kept;
  const auto times = std::make_shared<int>(0);
  const Law law =
      law_where(library, [times](const Seen& seen) { return seen.back() == 37 && ++*times == 1; });
  const LawReport report =
      run_laws({law}, {library.backend}, blocks_of({10, 20, 37}), kept.options);
  CHECK(report.failed() == 1);
  REQUIRE(kept.cases.size() == 1);
  CHECK(kept.cases[0].law_case.placement.block_size == 37);
  CHECK_THAT(report.failures[0],
             ContainsSubstring("\nfails\n  once, and not again: it holds alone in a new process, "
                               "and does not fail after the 2 checks before it"));
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
      ContainsSubstring("only after other calls: it is skipped alone in a new process (odd), "
                        "and fails there after\n1 other check:"));
}

TEST_CASE("making a case small ends with its time, and says so") {
  const Restartable library;
  Kept kept;
  kept.options.clock = [now = 0.0]() mutable { return now += 20; };
  const Law law = law_where(library, [](const Seen& seen) { return seen.back() >= 30; });
  const LawReport report = run_laws({law}, {library.backend}, blocks_of({39}), kept.options);
  REQUIRE(kept.cases.size() == 1);
  CHECK(kept.cases[0].law_case.placement.block_size > 30);
  CHECK(kept.cases[0].law_case.placement.block_size < 39);
  CHECK_THAT(report.failures[0],
             ContainsSubstring("\nfails\n  not as small as it gets: making it smaller was ended "
                               "after 60 s\n"));
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

// Late where `is_late` says so of what was seen: perhaps for what else the machine does.
Law late_where(const Restartable& library, std::function<bool(const Seen&)> is_late) {
  return law_where(library, [is_late](const Seen& seen) {
    if (is_late(seen)) throw FailureOfKind(kTimeOut, "late", FailureCause::kPerhapsMachine);
    return false;
  });
}

TEST_CASE("a call that is late once is put again after the same checks, and holds") {
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
  CHECK(*library.restarts == 1);
}

TEST_CASE("a call that is late again after the same checks fails, and is kept with those") {
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
  CHECK(kept.cases[0].after[0].described->description == "block size 20");
}

// Each eighth call, where drawing a case makes a call that no check makes again.
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

TEST_CASE("what each eighth call brings about is kept with the case itself, as often as it takes") {
  const Restartable library;
  const auto is_eighth = [](const Seen& seen) { return seen.size() % 8 == 0; };
  const Law wrong = law_where(library, is_eighth);
  const Law hanging = law_where(library, [is_eighth](const Seen& seen) {
    if (is_eighth(seen)) throw FailureOfKind(kTimeOut, "hangs");
    return false;
  });
  for (const Law& law : {wrong, hanging}) {
    Kept kept;
    library.backend.restart();
    const LawReport report = report_of_eighths(library, law, kept);
    CHECK(report.failed() == 1);
    REQUIRE(kept.cases.size() == 1);
    CHECK(kept.cases[0].after.size() == 7);
    CHECK_THAT(
        report.failures[0],
        ContainsSubstring("fails there after\n  7 other checks, in this order:\n  plain on a "
                          "library, 7 times, of\n  block size 24\n"));
  }
}

TEST_CASE("all failing cases together have a time, and what it cuts short is told and counted") {
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
  CHECK_THAT(report.failures[4], ContainsSubstring("not as small as it gets: making it smaller was "
                                                   "ended after 120 s of all failing cases"));
}

}  // namespace
}  // namespace recto::verify
