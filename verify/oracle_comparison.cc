#include "verify/oracle_comparison.h"

#include "core/attention_gate.h"
#include "core/contract.h"
#include "reference/error_bound.h"

namespace recto::verify {
LawVerdict compare_with_oracle(const Backend& backend, const PagedAttentionInputs& inputs,
                               BoundKind bound_kind, const OracleWatch& watch) {
  RECTO_CHECK_EQ(check_contents(inputs), Status::ok());
  LawVerdict verdict;
  verdict.skipped = backend.why_unsupported(inputs);
  if (verdict.skipped) return verdict;
  const reference::BoundedResult oracle =
      reference::bounded_attention(inputs, backend.numerics(inputs));
  const reference::AttentionResult seen = backend.run(inputs);
  verdict.comparison = compare(inputs, seen, oracle.exact,
                               bound_kind == BoundKind::kHard ? oracle.hard : oracle.sharp);
  if (watch && verdict.comparison.passed()) watch(backend, inputs, seen, oracle);
  if (verdict.comparison.elements == 0) verdict.skipped = "nothing to compare";
  if (!verdict.comparison.passed()) verdict.what = "against the oracle";
  return verdict;
}

Law oracle_comparison(const OracleWatch& watch) {
  const auto check = [watch](const Backend& backend, const LawCase& law_case,
                             BoundKind bound_kind) {
    const PlacedProblem placed(law_case.problem, law_case.placement);
    return compare_with_oracle(as_placed(backend, law_case.placement), placed.inputs(), bound_kind,
                               watch);
  };
  return {.name = "oracle",
          .statement = "out and lse lie within the bound around the fp64 result",
          .why_not_applicable = [](const LawCase&) { return std::nullopt; },
          .check = check};
}

}  // namespace recto::verify
