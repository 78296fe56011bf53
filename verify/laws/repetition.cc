// The same call gives the same bits, as often as it is made. Kernels that the executor runs take
// another schedule of threads each time (../backend_list.h).

#include <algorithm>

#include "verify/laws/law_trial.h"
#include "verify/laws/laws.h"

namespace recto::verify {
namespace {

constexpr std::int64_t kRuns = 100;
constexpr std::int64_t kRunsMin = 4;
// Multiplications of all runs together, about: so that no case takes minutes.
constexpr std::int64_t kWorkMax = 1'000'000;

std::int64_t runs_of(const AttentionProblem& problem) {
  const ProblemShape& shape = problem.shape;
  std::int64_t pairs = 1;
  for (const SequenceProblem& sequence : problem.sequences)
    pairs += sequence.num_rows * sequence.context_length;
  const std::int64_t work = pairs * shape.num_q_heads * (shape.head_dim_k + shape.head_dim_v);
  return std::clamp(kWorkMax / work, kRunsMin, kRuns);
}

LawVerdict check(const Backend& backend, const LawCase& law_case, BoundKind bound_kind) {
  LawTrial trial(backend, bound_kind);
  const std::optional<LawSide> first = trial.run(law_case);
  if (!first) return trial.verdict();
  const std::int64_t runs = runs_of(law_case.problem);
  if (runs < kRuns) trial.record_skip("all of 100 runs: the case is large");
  // In the same memory.
  for (std::int64_t run = 1; run < runs; ++run) {
    const Comparison comparison =
        compare_bits(first->inputs(), backend.run(first->inputs()), first->seen);
    trial.record("the same call again", comparison);
    if (!comparison.passed()) break;
  }
  return trial.verdict();
}

}  // namespace

Law repetition_law() {
  return {.name = "repetition",
          .statement = "the same call gives the same bits a hundred times, in any order of threads",
          .why_not_applicable = always_applicable,
          .check = check};
}

}  // namespace recto::verify
