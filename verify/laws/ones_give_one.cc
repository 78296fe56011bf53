// Weights sum to 1: if every value is 1, the output is 1 minus the sink's share, which is exp(sink
// - lse_ln) with the backend's own lse.

#include <cmath>

#include "verify/laws/law_trial.h"
#include "verify/laws/laws.h"
#include "verify/laws/problem_geometry.h"

namespace recto::verify {
namespace {

// The error of -expm1() here: its own, and its argument's, with |x| exp(x) <= 1/e for x <= 0.
constexpr double kShareRoundoff = 0x1p-51;

AttentionProblem with_ones(AttentionProblem problem) {
  for (SequenceProblem& sequence : problem.sequences) sequence.v.assign(sequence.v.size(), 1.0F);
  problem.v_scales.assign(problem.v_scales.size(), 1.0F);
  return problem;
}

// The expected `out`; the bound is in addition to that of `out`.
ComparedValues expected_weight(const OwnedAttentionOptions& options, double lse_ln,
                               double lse_ln_bound, std::int64_t head) {
  if (options.sinks.empty()) return {.expected = 1.0};
  const double log_share = options.sinks[static_cast<std::size_t>(head)] - lse_ln;
  if (!std::isfinite(lse_ln)) return {.expected = lse_ln};  // no output is right with such an lse
  return {.expected = -std::expm1(log_share),
          .bound = std::exp(log_share) * std::expm1(lse_ln_bound) + kShareRoundoff};
}

// 0 from a backend without lse: only its cases without sinks are compared.
double lse_ln_at(const reference::AttentionResult& seen, std::size_t index) {
  return seen.lse_ln.empty() ? 0.0 : seen.lse_ln[index];
}

LawVerdict check(const Backend& backend, const LawCase& law_case, BoundKind bound_kind) {
  LawTrial trial(backend, bound_kind);
  const AttentionProblem problem = with_ones(law_case.problem);
  const std::optional<LawSide> side = trial.run({problem, law_case.placement});
  if (!side) return trial.verdict();
  if (!problem.options.sinks.empty() && side->seen.lse_ln.empty()) {
    trial.record_skip("without lse, the share of a sink is not known");
    return trial.verdict();
  }
  const reference::AttentionResult bound = trial.bound_of(*side);
  ElementComparer comparer(side->inputs());
  for (const RowPlace& at : all_rows(problem)) {
    const SequenceProblem& sequence = problem.sequences[static_cast<std::size_t>(at.sequence)];
    const bool sees_keys = keys_seen(problem.options, sequence, at.row).size() > 0;
    for (std::int64_t h = 0; h < problem.shape.num_q_heads; ++h) {
      const auto index = static_cast<std::size_t>(at.result_row * problem.shape.num_q_heads + h);
      const ComparedValues weight =
          sees_keys ? expected_weight(problem.options, lse_ln_at(side->seen, index),
                                      bound.lse_ln[index], h)
                    : ComparedValues{};
      for (std::int64_t d = 0; d < problem.shape.head_dim_v; ++d)
        comparer.expect_within({.sequence = at.sequence, .row = at.row, .head = h, .dim = d},
                               {.seen = side->seen.out_at(at.result_row, h, d),
                                .expected = weight.expected,
                                .bound = bound.out_at(at.result_row, h, d) + weight.bound});
    }
  }
  trial.record("out, where all of V is 1", comparer.comparison());
  return trial.verdict();
}

}  // namespace

Law ones_give_one_law() {
  return {.name = "ones_give_one",
          .statement = "V = 1 gives 1, or 1 - p_sink with a sink",
          .why_not_applicable = always_applicable,
          .check = check};
}

}  // namespace recto::verify
