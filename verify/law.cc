#include "verify/law.h"

#include "core/attention_gate.h"
#include "core/contract.h"
#include "reference/error_bound.h"
#include "verify/quoted_text.h"

namespace recto::verify {

std::string LawVerdict::heading() const { return call_failure ? "a call failed" : what; }

std::string LawVerdict::details() const {
  if (call_failure) return call_failure->message;
  const std::string text = printed_text(printed);
  return (found ? *found : comparison.text()) + (text.empty() ? "" : "\n" + text);
}

const Done* done_or_verdict(const CallOutcome& outcome, LawVerdict& verdict) {
  if (const auto* refused = std::get_if<Unsupported>(&outcome)) verdict.skipped = refused->reason;
  if (const auto* failed = std::get_if<Failed>(&outcome)) verdict.call_failure = *failed;
  return std::get_if<Done>(&outcome);
}

LawVerdict with_findings(LawVerdict verdict, const std::string& what, std::string found) {
  if (found.empty()) return verdict;
  if (found.ends_with('\n')) found.pop_back();
  verdict.what = what;
  verdict.found = std::move(found);
  return verdict;
}

std::optional<std::string> why_never(const Law& law, const Backend& backend) {
  if (law.why_never) return law.why_never(backend);
  if (!backend.computes_attention()) return "it computes no attention";
  return std::nullopt;
}

LawVerdict guarded_check(const Law& law, const Backend& backend, const LawCase& law_case,
                         BoundKind bound_kind) {
  LawVerdict verdict;
  CallOutcome outcome = guarded([&]() -> CallOutcome {
    verdict = law.check(backend, law_case, bound_kind);
    return Done{};
  });
  if (auto* const failed = std::get_if<Failed>(&outcome)) verdict.call_failure = std::move(*failed);
  return verdict;
}

LawVerdict verdict_of(const Law& law, const Backend& backend, const LawCase& law_case,
                      BoundKind bound_kind) {
  if (auto why = law.why_not_applicable(law_case)) return {.skipped = std::move(why)};
  LawVerdict verdict = guarded_check(law, backend, law_case, bound_kind);
  if (verdict.call_failure) return {.call_failure = std::move(verdict.call_failure)};
  if (!verdict.skipped && verdict.comparison.elements == 0) verdict.skipped = "nothing to compare";
  return verdict;
}

LawVerdict compare_with_oracle(const Backend& backend, const PagedAttentionInputs& inputs,
                               BoundKind bound_kind, const CallOptions& options,
                               const OracleObserver& observer) {
  RECTO_CHECK_EQ(check_contents(inputs), Status::ok());
  LawVerdict verdict;
  const CallOutcome outcome = backend.call(inputs, options);
  const Done* const done = done_or_verdict(outcome, verdict);
  if (done == nullptr) return verdict;
  const reference::BoundedResult oracle =
      reference::bounded_attention(inputs, backend.numerics(inputs, options));
  verdict.comparison = compare(inputs, done->result, oracle.exact, bound_of(oracle, bound_kind));
  if (verdict.comparison.elements == 0) verdict.skipped = "nothing to compare";
  if (verdict.comparison.passed()) {
    if (observer) observer(backend, inputs, done->result, oracle);
    return verdict;
  }
  verdict.what = "against the oracle";
  verdict.printed = done->printed;
  return verdict;
}

Law oracle_comparison(const OracleObserver& observer) {
  const auto check = [observer](const Backend& backend, const LawCase& law_case,
                                BoundKind bound_kind) {
    const PlacedProblem placed(law_case.problem, backend.tolerated(law_case.placement));
    return compare_with_oracle(backend, placed.inputs(), bound_kind,
                               backend.options_for(law_case.placement), observer);
  };
  return {.name = "oracle",
          .statement = "out and lse lie within the bound around the fp64 result",
          .why_not_applicable = [](const LawCase&) { return std::nullopt; },
          .check = check};
}

}  // namespace recto::verify
