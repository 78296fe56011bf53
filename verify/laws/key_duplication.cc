// Repeating every key doubles numerator and denominator. If a sequence has several query rows, each
// row is doubled too, so that the second row of a pair is at position 2 i + 1 and sees both copies
// of what row i saw, also with the causal cut and the window (twice as wide).

#include <algorithm>
#include <cmath>
#include <numbers>

#include "verify/laws/laws.h"
#include "verify/laws/problem_geometry.h"
#include "verify/laws/shifted_sinks.h"

namespace recto::verify {
namespace {

std::vector<float> each_twice(const std::vector<float>& values, std::int64_t width) {
  std::vector<float> doubled;
  doubled.reserve(2 * values.size());
  for (auto row = values.begin(); row != values.end(); row += width)
    for (int copy = 0; copy < 2; ++copy) doubled.insert(doubled.end(), row, row + width);
  return doubled;
}

// A single row stays at the last position: n - 1 becomes 2 n - 1.
bool doubles_rows(const SequenceProblem& sequence) { return sequence.num_rows > 1; }

// A window longer than the longest context hides nothing, like one of the context's length, which
// can be doubled.
AttentionProblem doubled(AttentionProblem problem) {
  const std::int64_t longest = longest_context(problem);
  const ProblemShape& shape = problem.shape;
  for (SequenceProblem& sequence : problem.sequences) {
    if (doubles_rows(sequence)) {
      sequence.q = each_twice(sequence.q, shape.num_q_heads * shape.head_dim_k);
      sequence.num_rows *= 2;
    }
    sequence.k = each_twice(sequence.k, shape.num_kv_heads * shape.head_dim_k);
    sequence.v = each_twice(sequence.v, shape.num_kv_heads * shape.head_dim_v);
    sequence.context_length *= 2;
  }
  if (std::optional<std::int64_t>& window = problem.options.window)
    window = 2 * std::min(*window, longest);
  return problem;
}

// The rows of the doubled problem's results that correspond to the base's.
reference::AttentionResult paired_rows(const AttentionProblem& base,
                                       const reference::AttentionResult& doubled_result) {
  reference::AttentionResult paired(base.num_rows(), doubled_result.num_heads,
                                    doubled_result.head_dim);
  const bool has_lse_ln = !doubled_result.lse_ln.empty();
  if (!has_lse_ln) paired.lse_ln.clear();
  const std::int64_t width = paired.num_heads * paired.head_dim;
  std::int64_t from = 0;
  for (const RowPlace& at : all_rows(base)) {
    const bool is_doubled = doubles_rows(base.sequences[static_cast<std::size_t>(at.sequence)]);
    if (is_doubled) ++from;
    std::copy_n(doubled_result.out.begin() + from * width, width,
                paired.out.begin() + at.result_row * width);
    if (has_lse_ln) {
      std::copy_n(doubled_result.lse_ln.begin() + from * paired.num_heads, paired.num_heads,
                  paired.lse_ln.begin() + at.result_row * paired.num_heads);
    }
    ++from;
  }
  return paired;
}

std::optional<std::string> why_not_applicable(const LawCase& law_case) {
  if (!law_case.problem.options.alibi_slopes.empty()) return "ALiBi weighs keys by position";
  if (longest_context(law_case.problem) == 0) return "no keys";
  return std::nullopt;
}

LawVerdict check(const Backend& backend, const LawCase& law_case, BoundKind bound_kind) {
  LawTrial trial(backend, bound_kind);
  const std::optional<LawSide> base = trial.run(law_case);
  if (!base) return trial.verdict();
  const std::vector<double> shifts(static_cast<std::size_t>(law_case.problem.shape.num_q_heads),
                                   std::numbers::ln2);
  const ShiftedSinks sinks = shift_sinks(law_case.problem.options.sinks, shifts);
  LawCase twice{doubled(law_case.problem), law_case.placement};
  twice.problem.options.sinks = sinks.sinks;
  const std::optional<LawSide> side = trial.run(twice, "every key twice");
  if (!side) return trial.verdict();
  const reference::AttentionResult bound =
      sum_of(trial.bound_of(*base), paired_rows(law_case.problem, trial.bound_of(*side)));
  const ShiftedExpectation expectation = expect_shifted(base->seen, bound, shifts, sinks.residual);
  trial.record("every key twice", compare(base->inputs(), paired_rows(law_case.problem, side->seen),
                                          expectation.expected, expectation.bound));
  return trial.verdict();
}

}  // namespace

Law key_duplication_law() {
  return {.name = "key_duplication",
          .statement =
              "doubling every key, with ln 2 added to the sink, leaves out unchanged and adds ln 2 "
              "to lse",
          .why_not_applicable = why_not_applicable,
          .check = check};
}

}  // namespace recto::verify
