// The same call gives the same bits, whatever was computed before it.

#include <utility>

#include "verify/laws/law_trial.h"
#include "verify/laws/laws.h"

namespace recto::verify {
namespace {

// Another question of the same shape, which leaves other numbers behind: in caches that the backend
// keeps, in workspaces, in the memory that the next call gets.
LawCase other_call(LawCase law_case) {
  for (SequenceProblem& sequence : law_case.problem.sequences) {
    for (float& q : sequence.q) q = -q;
    for (float& v : sequence.v) v = 1.0F;
  }
  law_case.placement.poison = Poison::kTenThousand;
  law_case.placement.order = BlockOrder::kDescending;
  return law_case;
}

LawVerdict check(const Backend& backend, const LawCase& law_case, BoundKind bound_kind) {
  LawTrial trial(backend, bound_kind);
  const std::optional<LawSide> first = trial.run(law_case);
  if (!first) return trial.verdict();
  const auto compare_again = [&](const char* what) {
    if (const std::optional<LawSide> again = trial.run(law_case, what))
      trial.record(what, compare_bits(again->inputs(), again->seen, first->seen));
  };
  compare_again("the same call again");
  trial.run(other_call(law_case), "another call between");
  compare_again("the same call after another");
  return trial.verdict();
}

}  // namespace

Law repetition_law() {
  return {.name = "repetition",
          .statement = "the same call gives the same bits, whatever was called before it",
          .why_not_applicable = always_applicable,
          .check = check};
}

}  // namespace recto::verify
