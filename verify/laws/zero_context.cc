// A row that sees no key gives zeros and -inf, or the sink. Every second sequence, from the first
// on, loses its context, so that such rows are next to ordinary ones.

#include <cmath>
#include <limits>

#include "verify/laws/law_trial.h"
#include "verify/laws/laws.h"
#include "verify/laws/problem_geometry.h"

namespace recto::verify {
namespace {

AttentionProblem with_empty_contexts(AttentionProblem problem) {
  for (std::size_t s = 0; s < problem.sequences.size(); s += 2) {
    SequenceProblem& sequence = problem.sequences[s];
    sequence.context_length = 0;
    sequence.k.clear();
    sequence.v.clear();
  }
  return problem;
}

LawVerdict check(const Backend& backend, const LawCase& law_case, BoundKind bound_kind) {
  LawTrial trial(backend, bound_kind);
  const AttentionProblem problem = with_empty_contexts(law_case.problem);
  const std::optional<LawSide> side = trial.run({problem, law_case.placement});
  if (!side) return trial.verdict();
  const reference::AttentionResult bound = trial.bound_of(*side);
  ElementComparer comparer(side->inputs());
  for (const RowPlace& at : all_rows(problem)) {
    const SequenceProblem& sequence = problem.sequences[static_cast<std::size_t>(at.sequence)];
    if (keys_seen(problem.options, sequence, at.row).size() > 0) continue;
    for (std::int64_t h = 0; h < problem.shape.num_q_heads; ++h) {
      ElementPlace place{.sequence = at.sequence, .row = at.row, .head = h};
      for (place.dim = 0; place.dim < problem.shape.head_dim_v; ++place.dim)
        comparer.expect_within(place, {.seen = side->seen.out_at(at.result_row, h, place.dim)});
      if (side->seen.lse_ln.empty()) continue;
      place.dim = 0;
      place.tensor = ComparedTensor::kLseLn;
      const auto index = static_cast<std::size_t>(at.result_row * problem.shape.num_q_heads + h);
      const double expected = problem.options.sinks.empty()
                                  ? -std::numeric_limits<double>::infinity()
                                  : problem.options.sinks[static_cast<std::size_t>(h)];
      comparer.expect_within(
          place,
          {.seen = side->seen.lse_ln[index], .expected = expected, .bound = bound.lse_ln[index]});
    }
  }
  trial.record("rows without keys", comparer.comparison());
  return trial.verdict();
}

}  // namespace

Law zero_context_law() {
  return {.name = "zero_context",
          .statement = "a row without keys gives 0 exactly, and lse = -inf, or the sink",
          .why_not_applicable = always_applicable,
          .check = check};
}

}  // namespace recto::verify
