// The oracle's two bounds: an error between them fails only the probabilistic one.

#include "verify/law.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "bazel/testing/catch.h"
#include "reference/error_bound.h"
#include "verify/drawn_cases.h"
#include "verify/law_runner.h"
#include "verify/laws/testing/faulty_backends.h"

namespace recto::verify {
namespace {

using reference::AttentionResult;
using reference::BoundedResult;

reference::KernelNumerics numerics(const PagedAttentionInputs& /*inputs*/) {
  return reference::third_party_numerics(ElementType::kFp32, ElementType::kFp32);
}

// probabilistic + part * (worst-case - probabilistic)
double between(double probabilistic, double worst_case, double part) {
  return probabilistic + part * (worst_case - probabilistic);
}

// Wrong in each element by an error at `part` between the bounds: 0 is the probabilistic, 1 the
// worst-case bound.
Backend wrong_between_bounds(double part) {
  Backend backend = wrong([part](const PagedAttentionInputs& inputs) {
    const BoundedResult oracle = reference::bounded_attention(inputs, numerics(inputs));
    AttentionResult seen = oracle.exact;
    for (std::size_t i = 0; i < seen.out.size(); ++i)
      seen.out[i] += between(oracle.probabilistic.out[i], oracle.worst_case.out[i], part);
    for (std::size_t i = 0; i < seen.lse_ln.size(); ++i)
      seen.lse_ln[i] -= between(oracle.probabilistic.lse_ln[i], oracle.worst_case.lse_ln[i], part);
    return seen;
  });
  backend.numerics_of = [](const auto& inputs, const CallOptions&) { return numerics(inputs); };
  return backend;
}

std::int64_t mismatches(double part, BoundKind bound_kind) {
  const LawVerdict verdict =
      oracle_comparison().check(wrong_between_bounds(part), small_case(), bound_kind);
  CHECK_FALSE(verdict.skipped);
  CHECK(verdict.what == (verdict.comparison.passed() ? "" : "against the oracle"));
  return verdict.comparison.mismatches;
}

TEST_CASE(
    "an error between the bounds exceeds the probabilistic one and is within the worst-case one") {
  const std::int64_t elements = 4 * 4 * (4 + 1);  // rows, heads, dims and lse
  CHECK(mismatches(-0.1, BoundKind::kProbabilistic) == 0);
  CHECK(mismatches(0.1, BoundKind::kProbabilistic) == elements);
  CHECK(mismatches(0.9, BoundKind::kWorstCase) == 0);
  CHECK(mismatches(1.1, BoundKind::kWorstCase) == elements);
}

// Like an fp32 kernel whose running maximum begins at a finite number: if all scores are so low
// that their weights relative to it are 0, the sum is 0.
Backend with_maximum_from(double first) {
  return wrong([first](const PagedAttentionInputs& inputs) {
    constexpr double kUnderflow = 104;
    AttentionResult seen = result_of(backend_of("naive-fp64").call(inputs));
    for (std::size_t row = 0; row < seen.lse_ln.size(); ++row) {
      if (seen.lse_ln[row] >= first - kUnderflow) continue;
      seen.lse_ln[row] = -std::numeric_limits<double>::infinity();
      const auto dim = static_cast<std::size_t>(seen.head_dim);
      std::fill_n(seen.out.begin() + static_cast<std::ptrdiff_t>(row * dim), dim, 0.0);
    }
    return seen;
  });
}

TEST_CASE("a running maximum that begins at a finite number is found, if scores can lie below it") {
  for (const std::uint64_t seed : {1, 2}) {
    const DrawnCases cases{.name = "running maximum", .count = 64, .seed = seed};
    CAPTURE(seed);
    for (const double first : {-2000.0, -5000.0, -9000.0, -9800.0}) {
      CAPTURE(first);
      const LawReport report = run_laws({oracle_comparison()}, {with_maximum_from(first)},
                                        drawn_cases(cases, {}), {.shrinking_trials = 0});
      CHECK(report.failed() > 0);
    }
    const LawReport report = run_laws({oracle_comparison()}, {with_maximum_from(-2 * kScoreLimit)},
                                      drawn_cases(cases, {}), {});
    CHECK(report.failed() == 0);
  }
}

TEST_CASE("a case without query rows is skipped, not held") {
  LawCase law_case = small_case();
  for (SequenceProblem& sequence : law_case.problem.sequences) {
    sequence.num_rows = 0;
    sequence.q.clear();
  }
  const LawVerdict verdict =
      oracle_comparison().check(backend_of("naive-fp64"), law_case, BoundKind::kWorstCase);
  CHECK(verdict.skipped == "nothing to compare");
}

}  // namespace
}  // namespace recto::verify
