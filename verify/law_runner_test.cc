#include "verify/law_runner.h"

#include <sstream>
#include <stdexcept>

#include "bazel/testing/catch.h"
#include "core/contract.h"
#include "verify/restartable_backend.h"

namespace recto::verify {
namespace {

using Catch::Matchers::ContainsSubstring;

// A law of block sizes: even sizes pass, odd sizes fail, and the backend does not support 6.
Law even_blocks() {
  return {.name = "even_blocks",
          .statement = "blocks are even",
          .why_not_applicable = [](const LawCase& law_case) -> std::optional<std::string> {
            if (law_case.placement.block_size == 4) return "four is not looked at";
            return std::nullopt;
          },
          .check =
              [](const Backend&, const LawCase& law_case, BoundKind bound_kind) {
                LawVerdict verdict;
                const std::int64_t block_size = law_case.placement.block_size;
                if (block_size == 6) {
                  verdict.skipped = "blocks of 6 are not supported";
                  return verdict;
                }
                verdict.comparison.elements = 1;
                verdict.comparison.worst_ratio = bound_kind == BoundKind::kWorstCase ? 0.25 : 0.5;
                if (block_size % 2 == 0) return verdict;
                const Mismatch mismatch{.place = {.sequence = 1, .row = 2, .head = 3, .dim = 4},
                                        .block = 5,
                                        .slot = 6,
                                        .values = {.seen = 2.5, .expected = 2.0, .bound = 0.125}};
                verdict.comparison.mismatches = 1;
                verdict.comparison.worst_ratio = 4.0;
                verdict.comparison.first = verdict.comparison.worst = mismatch;
                verdict.what = "the block size halved";
                return verdict;
              }};
}

Backend named(const std::string& name) {
  Backend backend;
  backend.name = name;
  return backend;
}

LawCase block_of(std::int64_t size) {
  LawCase law_case;
  law_case.placement.block_size = size;
  return law_case;
}

// Cases of block sizes 1 to `last`.
CaseSource blocks_up_to(std::int64_t last) {
  return [last, next = std::int64_t{1}]() mutable -> std::optional<DescribedCase> {
    if (next > last) return std::nullopt;
    DescribedCase described;
    described.law_case.placement.block_size = next;
    described.description = "block size " + std::to_string(next) + "\nno sequences";
    described.replay = "replay " + std::to_string(next);
    ++next;
    return described;
  };
}

TEST_CASE("the runner counts held, failed and skipped cases for each law and backend") {
  const LawReport report = run_laws({even_blocks()}, {named("a"), named("b")}, blocks_up_to(7), {});
  REQUIRE(report.counts.size() == 2);
  for (const LawCount& count : report.counts) {
    CHECK(count.law == "even_blocks");
    CHECK(count.held == 1);
    CHECK(count.failed == 4);
    CHECK(count.ran() == 5);
    CHECK(count.worst_ratio == 4.0);
    CHECK(count.skipped == std::map<std::string, std::int64_t>{
                               {"four is not looked at", 1}, {"blocks of 6 are not supported", 1}});
  }
  CHECK(report.counts[0].backend == "a");
  CHECK(report.counts[1].backend == "b");
  CHECK_FALSE(report.passed());
  // Three of every four are kept.
  CHECK(report.failures.size() == 6);
}

TEST_CASE("a run without a failed case has passed, with the bound that was asked for") {
  const Law law = even_blocks();
  const auto two = [given = false]() mutable -> std::optional<DescribedCase> {
    if (given) return std::nullopt;
    given = true;
    DescribedCase described;
    described.law_case.placement.block_size = 2;
    return described;
  };
  const LawReport worst_case =
      run_laws({law}, {named("a")}, two, {.bound_kind = BoundKind::kWorstCase});
  CHECK(worst_case.passed());
  CHECK(worst_case.counts[0].worst_ratio == 0.25);
  const LawReport probabilistic =
      run_laws({law}, {named("a")}, two, {.bound_kind = BoundKind::kProbabilistic});
  CHECK(probabilistic.passed());
  CHECK(probabilistic.counts[0].worst_ratio == 0.5);
}

TEST_CASE("a failing case is a readable block with the command that replays it") {
  const LawReport report = run_laws({even_blocks()}, {named("a")}, blocks_up_to(1), {});
  REQUIRE(report.failures.size() == 1);
  CHECK(report.failures[0] ==
        "law even_blocks is broken by a\n"
        "  blocks are even\n"
        "case\n"
        "  block size 1\n"
        "  no sequences\n"
        "the block size halved\n"
        "  1 of 1 elements are wrong\n"
        "  first out[sequence 1, row 2, head 3, dim 4], own token in block 5, slot 6\n"
        "    seen 2.5, expected 2, bound 0.125, ratio 4: beyond the bound\n"
        "  worst out[sequence 1, row 2, head 3, dim 4], own token in block 5, slot 6\n"
        "    seen 2.5, expected 2, bound 0.125, ratio 4: beyond the bound\n"
        "replay\n"
        "  replay 1\n");
}

TEST_CASE("the table has a line per law and backend, and the reasons for skipped cases") {
  const std::string table = run_laws({even_blocks()}, {named("a")}, blocks_up_to(6), {}).table();
  CHECK_THAT(table, ContainsSubstring("even_blocks          a                           1      3"
                                      "        2             4\n"));
  CHECK_THAT(table, ContainsSubstring("skipped      1  even_blocks: four is not looked at\n"));
  CHECK_THAT(table,
             ContainsSubstring("skipped      1  even_blocks: blocks of 6 are not supported\n"));
}

TEST_CASE("a replay is printed as one line, however long") {
  const std::string command =
      "./bazelw test --test_env=RECTO_CASE=long-contexts:1234567 //a/folder/with/a/long:name_test";
  REQUIRE(command.size() > 80);
  LawReport report = run_laws(
      {even_blocks()}, {named("a")},
      [command, given = false]() mutable -> std::optional<DescribedCase> {
        if (given) return std::nullopt;
        given = true;
        return DescribedCase{.law_case = block_of(3), .description = "three", .replay = command};
      },
      {});
  std::ostringstream printed;
  report.print(printed);
  CHECK_THAT(printed.str(), ContainsSubstring(report.table()));
  CHECK_THAT(printed.str(), ContainsSubstring("\nreplay\n  " + command + "\n"));
}

// Throws for blocks of `from` slots or more.
Law throwing(std::int64_t from) {
  Law law = even_blocks();
  law.check = [from](const Backend&, const LawCase& law_case, BoundKind) {
    RECTO_CHECK_LT(law_case.placement.block_size, from);
    LawVerdict verdict;
    verdict.comparison.elements = 1;
    return verdict;
  };
  return law;
}

// Block size `size`, then 10 less, and so on, down to 5.
DescribedCase shrinking_block(std::int64_t size) {
  DescribedCase described;
  described.law_case = block_of(size);
  described.description = "block size " + std::to_string(size);
  described.replay = "replay it";
  if (size > 10)
    described.simpler_cases = [size] {
      return std::vector<std::function<DescribedCase()>>{
          [size] { return shrinking_block(size - 10); }};
    };
  return described;
}

TEST_CASE("a backend's exception is a failure that is shrunk, printed and replayed") {
  std::int64_t next = 45;
  const CaseSource cases = [&next]() -> std::optional<DescribedCase> {
    if (next > 46) return std::nullopt;
    return shrinking_block(next++);
  };
  const LawReport report = run_laws({throwing(20)}, {named("a"), named("b")}, cases, {});
  CHECK(report.failed() == 4);  // for both backends and both cases: the run continues
  CHECK_FALSE(report.passed());
  REQUIRE(report.failures.size() == 4);
  CHECK_THAT(report.failures[0], ContainsSubstring("law even_blocks is broken by a\n"));
  CHECK_THAT(report.failures[0], ContainsSubstring("\n  block size 25\na call failed\n  "));
  CHECK_THAT(report.failures[0], ContainsSubstring(" < from (25 vs 20)\nreplay\n  replay it\n"));
}

TEST_CASE("a wrong result does not shrink to an exception, nor an exception to a wrong result") {
  Law law = even_blocks();
  law.check = [](const Backend&, const LawCase& law_case, BoundKind) {
    if (law_case.placement.block_size == 15) throw std::runtime_error("fifteen");
    LawVerdict verdict;
    verdict.comparison.elements = verdict.comparison.mismatches = 1;
    return verdict;
  };
  CHECK(shrink_failure(law, named("a"), shrinking_block(35), {}).description == "block size 25");
  CHECK(shrink_failure(law, named("a"), shrinking_block(15), {}).description == "block size 15");
}

TEST_CASE("an exception need not be a std::exception") {
  const CallOutcome outcome = guarded([]() -> CallOutcome { throw 1; });
  CHECK(std::get<Failed>(outcome).message == "something other than a std::exception");
}

TEST_CASE("a run in which a backend was never tried has not passed, and names it") {
  Law law = even_blocks();
  law.check = [](const Backend& backend, const LawCase&, BoundKind) {
    LawVerdict verdict;
    verdict.comparison.elements = 1;
    if (backend.name == "idle") verdict.skipped = "nothing is supported";
    return verdict;
  };
  CHECK(run_laws({law}, {named("busy")}, blocks_up_to(3), {}).passed());
  const LawReport report = run_laws({law}, {named("busy"), named("idle")}, blocks_up_to(3), {});
  CHECK(report.failed() == 0);
  CHECK(report.untried_backends() == std::vector<std::string>{"idle"});
  CHECK_FALSE(report.passed());
  CHECK_THAT(report.table(), ContainsSubstring("untried         idle: every case was skipped\n"));
  // It is enough that one of several laws applies.
  CHECK(run_laws({law, even_blocks()}, {named("idle")}, blocks_up_to(2), {}).failed() == 1);
  Law silent = law;
  silent.name = "silent";
  silent.why_not_applicable = [](const LawCase&) { return "never"; };
  CHECK(run_laws({law, silent}, {named("busy")}, blocks_up_to(3), {}).passed());
  CHECK_FALSE(run_laws({law}, {named("busy")}, blocks_up_to(0), {}).passed());
  CHECK_FALSE(run_laws({}, {named("busy")}, blocks_up_to(3), {}).passed());
  CHECK_FALSE(run_laws({law}, {}, blocks_up_to(3), {}).passed());
}

TEST_CASE("skipped parts of a law are counted, and so are cases that compare nothing") {
  Law law = even_blocks();
  law.check = [](const Backend&, const LawCase& law_case, BoundKind) {
    LawVerdict verdict;
    if (law_case.placement.block_size == 1) return verdict;
    verdict.comparison.elements = 1;
    verdict.skipped_parts = {"blocks of 6: too few", "blocks of 7: too many"};
    return verdict;
  };
  const LawReport report = run_laws({law}, {named("a")}, blocks_up_to(3), {});
  CHECK(report.counts[0].held == 2);
  CHECK(report.counts[0].skipped == std::map<std::string, std::int64_t>{{"nothing to compare", 1}});
  CHECK(report.counts[0].skipped_parts ==
        std::map<std::string, std::int64_t>{{"blocks of 6: too few", 2},
                                            {"blocks of 7: too many", 2}});
  CHECK_THAT(report.table(), ContainsSubstring("skipped      1  even_blocks: nothing to compare\n"
                                               "skipped      2  in part, even_blocks: blocks of 6: "
                                               "too few\n"));
}

TEST_CASE("failing cases are kept reduced, up to the limit, and the keeper describes the replay") {
  std::vector<std::string> kept;
  LawRunOptions options{.failures_kept = 2};
  options.keep = [&kept](const Law& law, const Backend& backend, const DescribedCase& smallest,
                         const LawVerdict&) {
    kept.push_back(law.name + " on " + backend.name + ", " + smallest.replay);
    return "keeper " + std::to_string(kept.size());
  };
  const LawReport report = run_laws({even_blocks()}, {named("a")}, blocks_up_to(7), options);
  REQUIRE(report.failures.size() == 2);
  REQUIRE(kept.size() == 2);
  CHECK((kept[0].starts_with("even_blocks on a, replay ")));
  CHECK((report.failures[0].ends_with("replay\n  keeper 1\n")));
  CHECK((report.failures[1].ends_with("replay\n  keeper 2\n")));
}

TEST_CASE("each attempt is announced before it is made") {
  std::vector<std::string> told;
  LawRunOptions options;
  options.before_each = [&told](const Law& law, const Backend& backend) {
    told.push_back(law.name + " on " + backend.name);
  };
  run_laws({even_blocks()}, {named("a"), named("b")}, blocks_up_to(2), options);
  CHECK(told == std::vector<std::string>{"even_blocks on a", "even_blocks on b", "even_blocks on a",
                                         "even_blocks on b"});
}

}  // namespace
}  // namespace recto::verify
