#include "verify/oracle_comparison.h"

#include "core/attention_gate.h"
#include "core/contract.h"
#include "reference/error_bound.h"

namespace recto::verify {

LawVerdict compare_with_oracle(const Backend& backend, const PagedAttentionInputs& inputs,
                               BoundKind bound_kind, const CallOptions& options,
                               const OracleWatch& watch) {
  RECTO_CHECK_EQ(check_contents(inputs), Status::ok());
  LawVerdict verdict;
  const CallOutcome outcome = backend.call(inputs, options);
  const Done* const done = done_or_verdict(outcome, verdict);
  if (done == nullptr) return verdict;
  const reference::BoundedResult oracle =
      reference::bounded_attention(inputs, backend.numerics(inputs, options));
  verdict.comparison =
      compare(inputs, done->result, oracle.exact,
              bound_kind == BoundKind::kWorstCase ? oracle.worst_case : oracle.probabilistic);
  if (verdict.comparison.elements == 0) verdict.skipped = "nothing to compare";
  if (verdict.comparison.passed()) {
    if (watch) watch(backend, inputs, done->result, oracle);
    return verdict;
  }
  verdict.what = "against the oracle";
  verdict.printed = done->printed;
  return verdict;
}

Law oracle_comparison(const OracleWatch& watch) {
  const auto check = [watch](const Backend& backend, const LawCase& law_case,
                             BoundKind bound_kind) {
    const PlacedProblem placed(law_case.problem, backend.tolerated(law_case.placement));
    return compare_with_oracle(backend, placed.inputs(), bound_kind,
                               backend.options_for(law_case.placement), watch);
  };
  return {.name = "oracle",
          .statement = "out and lse lie within the bound around the fp64 result",
          .why_not_applicable = [](const LawCase&) { return std::nullopt; },
          .check = check};
}

}  // namespace recto::verify
