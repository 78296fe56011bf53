#include "verify/law_runner.h"

#include "bazel/testing/catch.h"

namespace recto::verify {
namespace {

using Catch::Matchers::ContainsSubstring;

// A law of block sizes alone: even ones hold, odd ones fail, 6 is beyond what the backend supports.
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
                verdict.comparison.worst_ratio = bound_kind == BoundKind::kHard ? 0.25 : 0.5;
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

TEST_CASE("the runner counts what held, failed and was skipped, for each law and backend") {
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
  // Three of each four are kept.
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
  const LawReport hard = run_laws({law}, {named("a")}, two, {.bound_kind = BoundKind::kHard});
  CHECK(hard.passed());
  CHECK(hard.counts[0].worst_ratio == 0.25);
  const LawReport sharp = run_laws({law}, {named("a")}, two, {.bound_kind = BoundKind::kSharp});
  CHECK(sharp.passed());
  CHECK(sharp.counts[0].worst_ratio == 0.5);
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

TEST_CASE("the table has a line per law and backend, and the reasons of what was skipped") {
  const std::string table = run_laws({even_blocks()}, {named("a")}, blocks_up_to(6), {}).table();
  CHECK_THAT(table, ContainsSubstring("even_blocks          a                           1      3"
                                      "        2             4\n"));
  CHECK_THAT(table, ContainsSubstring("skipped      1  even_blocks: four is not looked at\n"));
  CHECK_THAT(table,
             ContainsSubstring("skipped      1  even_blocks: blocks of 6 are not supported\n"));
}

}  // namespace
}  // namespace recto::verify
