#include "verify/explain/explanation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "verify/explain/fault_model.h"
#include "verify/explain/second_run.h"

namespace recto::verify {
namespace {

bool has_no_numbers(const reference::AttentionResult& seen) {
  const auto is_nan = [](double value) { return std::isnan(value); };
  return std::ranges::any_of(seen.out, is_nan) || std::ranges::any_of(seen.lse_ln, is_nan);
}

// What can be told without running the case again.
Explanation compared(const FailedCase& of, const Comparison& comparison) {
  Explanation explanation;
  explanation.comparison = comparison;
  if (comparison.passed()) return explanation;
  const ElementPlace& worst = comparison.worst->place;
  explanation.place = {.sequence = worst.sequence, .row = worst.row, .head = worst.head};
  explanation.is_empty_row = of.visible_keys(explanation.place).size() == 0;
  explanation.faults = find_faults(of);
  return explanation;
}

// What shows with the case's own V alone may also not show each time.
std::optional<Diagnosis> diagnose_second_call(const Backend& backend, const LawCase& law_case,
                                              const FailedCase& of, const HeadRow& at) {
  const auto again = try_run(backend, of.inputs, backend.options_for(law_case.placement));
  const std::string start =
      "with V of ones and zeros weights and lse are right; the case made again ";
  if (!again.is_ok()) return Diagnosis{.why = start + "ends: " + again.status().message()};
  if (count_wrong({of.inputs, again.value(), of.right, of.numerics, of.bound_kind}, at) > 0)
    return std::nullopt;
  std::string why = start + "is right in this row";
  const Comparison all = compare(of.inputs, again.value(), of.right.exact, of.bound());
  if (!all.passed()) {
    const ElementPlace& other = all.worst->place;
    why += fmt::format(", and wrong in sequence {}, row {}, head {}", other.sequence, other.row,
                       other.head);
  }
  return Diagnosis{.why = why + ": it is not wrong each time"};
}

// Runs the case again, with other V, for the weights of the row's keys.
void look_at_row(const Backend& backend, const LawCase& law_case, const FailedCase& of,
                 Explanation& explanation) {
  const HeadRow& at = explanation.place;
  const StaleRow stale = of.stale_at(at);
  if (explanation.is_empty_row) {
    // Keys may get weight all the same.
    Keys attended;
    if (of.sequence_of(at).context_length > 0 && stale.dims.empty()) {
      const auto probe = probe_weights(backend, law_case, at, of.bound_kind);
      if (probe.is_ok() && weights_give_output(probe.value(), of, at)) {
        explanation.probe = probe.value();
        attended = probe.value().extra_keys();
      }
    }
    explanation.diagnosis = diagnose_empty_row(of, at, stale, attended);
    return;
  }
  if (const auto diagnosis = diagnose_no_number(explanation.comparison.worst->values)) {
    explanation.why_no_probe = "there is nothing to hold them against";
    explanation.diagnosis = *diagnosis;
    return;
  }
  if (stale.is_stale()) {
    explanation.why_no_probe = "what is seen of the row follows what memory held before";
    explanation.diagnosis = diagnose_stale_row(stale, of.seen.head_dim);
    return;
  }
  const auto probe = probe_weights(backend, law_case, at, of.bound_kind);
  if (!probe.is_ok()) {
    explanation.why_no_probe = probe.status().message();
    explanation.diagnosis = diagnose_outputs(explanation.comparison);
    return;
  }
  explanation.probe = probe.value();
  explanation.diagnosis = diagnose(probe.value(), of, at);
  if (!probe.value().wrong_keys().empty() || !probe.value().lse_ln_is_right()) return;
  if (const auto diagnosis = diagnose_second_call(backend, law_case, of, at))
    explanation.diagnosis = *diagnosis;
}

}  // namespace

Explanation explain(const Backend& backend, const LawCase& law_case, BoundKind bound_kind) {
  const CallOptions options = backend.options_for(law_case.placement);
  const PlacedProblem placed(law_case.problem, law_case.placement);
  const PagedAttentionInputs& inputs = placed.inputs();
  const auto seen = try_run(backend, inputs, options);
  if (!seen.is_ok()) return {.not_run = seen.status().message()};
  const reference::KernelNumerics numerics = backend.numerics(inputs, options);
  const auto right = reference::bounded_attention(inputs, numerics);
  FailedCase of{inputs, seen.value(), right, numerics, bound_kind};
  // Without a pattern of its own, memory holds NaN.
  std::optional<StaleRows> stale;
  if (has_no_numbers(seen.value())) stale = find_stale_rows(backend, inputs, options);
  if (stale) of.stale = &*stale;
  Explanation explanation = compared(of, compare(inputs, seen.value(), right.exact, of.bound()));
  if (explanation.is_wrong()) look_at_row(backend, law_case, of, explanation);
  return explanation;
}

Explanation explain_results(const reference::AttentionResult& seen, const Comparison& comparison,
                            const LawCase& law_case, BoundKind bound_kind) {
  const PlacedProblem placed(law_case.problem, law_case.placement);
  const PagedAttentionInputs& inputs = placed.inputs();
  const auto numerics = reference::third_party_numerics(inputs.q.type, inputs.kv.k.type);
  const auto right = reference::bounded_attention(inputs, numerics);
  const FailedCase of{inputs, seen, right, numerics, bound_kind};
  Explanation explanation = compared(of, comparison);
  if (!explanation.is_wrong()) return explanation;
  explanation.why_no_probe = "results in a file cannot be asked again, with another V";
  const auto no_number = diagnose_no_number(comparison.worst->values);
  explanation.diagnosis = explanation.is_empty_row
                              ? diagnose_empty_row(of, explanation.place, {}, {})
                          : no_number ? *no_number
                                      : diagnose_results(of, explanation.place);
  return explanation;
}

}  // namespace recto::verify
