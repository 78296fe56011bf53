#include "verify/explain/explanation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "reference/rounding.h"
#include "verify/explain/fault_model.h"
#include "verify/quoted_text.h"

namespace recto::verify {
namespace {

bool has_no_numbers(const reference::AttentionResult& seen) {
  const auto is_nan = [](double value) { return std::isnan(value); };
  return std::ranges::any_of(seen.out, is_nan) || std::ranges::any_of(seen.lse_ln, is_nan);
}

// Makes two runs on memory with different contents. Nothing if the backend does not accept initial
// contents, or does not run.
std::optional<StaleRows> find_stale_rows(const Backend& backend, const PagedAttentionInputs& inputs,
                                         CallOptions options) {
  if (!backend.capabilities.takes_stale_memory) return std::nullopt;
  constexpr std::uint32_t kPattern = 0x3c003c00U;  // not zero in any type
  const auto run_on = [&](std::uint32_t memory) {
    options.stale_memory = memory;
    return result_or_reason(backend.call(inputs, options));
  };
  const auto on_zeros = run_on(0);
  const auto on_pattern = run_on(kPattern);
  if (!on_zeros.is_ok() || !on_pattern.is_ok()) return std::nullopt;
  const auto follows = [&](double first, double second, ElementType type, StaleRow& row) {
    if (is_right({.seen = first, .expected = second})) return false;
    const std::uint32_t code = element_bytes(type) == 2 ? kPattern & 0xffffU : kPattern;
    row.is_unwritten &= first == 0.0 && second == reference::decode(code, type);
    return true;
  };
  StaleRows rows;
  for (std::int64_t row = 0; row < inputs.q.num_rows; ++row) {
    for (std::int64_t head = 0; head < inputs.q.num_heads; ++head) {
      const auto first = row_output(on_zeros.value(), row, head);
      const auto second = row_output(on_pattern.value(), row, head);
      StaleRow& stale = rows.emplace_back();
      for (std::int64_t dim = 0; dim < first.out.size(); ++dim)
        if (follows(first.out[dim], second.out[dim], inputs.q.type, stale))
          stale.dims.push_back(dim);
      stale.has_lse_ln = follows(first.lse_ln, second.lse_ln, ElementType::kFp32, stale);
    }
  }
  return rows;
}

// The part of an explanation that needs no second run.
Explanation compared(const FailedCase& of, const Comparison& comparison) {
  Explanation explanation;
  explanation.comparison = comparison;
  if (comparison.passed()) return explanation;
  const ElementPlace& worst = comparison.worst->place;
  explanation.place = {.sequence = worst.sequence, .row = worst.row, .head = worst.head};
  explanation.is_empty_row = of.is_empty(explanation.place);
  explanation.faults = find_faults(of);
  return explanation;
}

// A failure that only the case's own V shows may also not occur each time.
std::optional<Diagnosis> diagnose_second_call(const Backend& backend, const LawCase& law_case,
                                              const FailedCase& of, const HeadRow& at) {
  const auto again =
      result_or_reason(backend.call(of.inputs, backend.options_for(law_case.placement)));
  const std::string start =
      "weights and lse are right with V of ones and zeros; the case run again ";
  if (!again.is_ok()) return Diagnosis{.why = start + "ends: " + again.status().message()};
  const FailedCase other_run{of.inputs, again.value(), of.right, of.numerics, of.bound_kind};
  if (other_run.count_wrong(at) > 0) return std::nullopt;
  std::string why = start + "is right in this row";
  const Comparison all = compare(of.inputs, again.value(), of.right.exact, of.bound());
  if (!all.passed()) {
    const ElementPlace& other = all.worst->place;
    why += fmt::format(", and wrong in sequence {}, row {}, head {}", other.sequence, other.row,
                       other.head);
  }
  return Diagnosis{.why = why + ": it does not fail each time"};
}

// Null if the results are from elsewhere, such as a file.
Result<WeightProbe> probe_row(const Backend* backend, const LawCase& law_case, const FailedCase& of,
                              const HeadRow& at) {
  if (backend == nullptr)
    return Status::failed("results in a file cannot be computed again with another V");
  return probe_weights(*backend, law_case, at, of.bound_kind);
}

// Masked keys may still get weight.
void look_at_empty_row(const Backend* backend, const LawCase& law_case, const FailedCase& of,
                       Explanation& explanation) {
  const HeadRow& at = explanation.place;
  Keys attended;
  const bool may_attend =
      of.has_lse_ln() && of.sequence_of(at).context_length > 0 && of.stale_at(at).dims.empty();
  if (may_attend) {
    const auto probe = probe_row(backend, law_case, of, at);
    if (probe.is_ok() && weights_give_output(probe.value(), of, at)) {
      explanation.probe = probe.value();
      attended = probe.value().extra_keys();
    }
  }
  explanation.diagnosis = diagnose_empty_row(of, at, attended);
}

// Runs the case again with other V, to measure the weights of the row's keys.
void look_at_row(const Backend* backend, const LawCase& law_case, const FailedCase& of,
                 Explanation& explanation) {
  const HeadRow& at = explanation.place;
  if (explanation.is_empty_row) return look_at_empty_row(backend, law_case, of, explanation);
  const auto without_probe = [&](const std::string& why, const Diagnosis& diagnosis) {
    explanation.why_no_probe = why;
    explanation.diagnosis = diagnosis;
  };
  if (const auto no_number = diagnose_no_number(explanation.comparison.worst->values))
    return without_probe("there are no expected weights to compare with", *no_number);
  if (const StaleRow stale = of.stale_at(at); stale.is_stale()) {
    return without_probe("the row's results depend on what memory held before",
                         diagnose_stale_row(stale, of.seen.head_dim));
  }
  if (!of.has_lse_ln()) {
    return without_probe("the results have no lse_ln, by which weights are judged",
                         diagnose_results(of, at));
  }
  const auto probe = probe_row(backend, law_case, of, at);
  if (!probe.is_ok()) {
    without_probe(probe.status().message(), diagnose_results(of, at));
    // A smaller case would show the step.
    if (backend != nullptr) explanation.diagnosis.step = Step::kUnknown;
    return;
  }
  explanation.probe = probe.value();
  explanation.diagnosis = diagnose(probe.value(), of, at);
  if (!probe.value().wrong_keys().empty() || !probe.value().lse_ln_is_right()) return;
  if (const auto diagnosis = diagnose_second_call(*backend, law_case, of, at))
    explanation.diagnosis = *diagnosis;
}

constexpr std::size_t kKeysShown = 12;

// The location of a key in the cache.
struct KeyPlace {
  std::int64_t block = 0;
  std::int64_t slot = 0;
};

KeyPlace place_of(const PagedAttentionInputs& inputs, std::int64_t sequence, std::int64_t key) {
  const std::int64_t block_size = inputs.kv.k.block_size;
  const std::int32_t* row = inputs.block_table.data + sequence * inputs.block_table.row_stride;
  return {.block = row[key / block_size], .slot = key % block_size};
}

// Keys to show, among those with wrong weights: the diagnosed key, and others that depart first.
Keys shown_keys(const Explanation& explanation, Keys wrong) {
  if (wrong.size() <= kKeysShown) return wrong;
  // A weight may be wrong only because another one in the same sum is. Not
  // ranges::stable_partition: clang++ 14 cannot compile the ranges::subrange that it returns.
  std::stable_partition(wrong.begin(), wrong.end(), [&](std::int64_t key) {
    const std::optional<double> error = explanation.probe->score_error(key);
    return !error || std::abs(*error) > explanation.probe->score_tolerance(key);
  });
  std::stable_partition(wrong.begin(), wrong.end(),
                        [&](std::int64_t key) { return key == explanation.diagnosis.key; });
  wrong.resize(kKeysShown);
  std::ranges::sort(wrong);
  return wrong;
}

std::string keys_text(const Explanation& explanation, const PagedAttentionInputs& inputs) {
  const WeightProbe& probe = *explanation.probe;
  const Keys wrong = probe.wrong_keys();
  if (wrong.empty()) return "";
  const Keys keys = shown_keys(explanation, wrong);
  std::string text =
      fmt::format("  {:>6} {:>6} {:>5} {:>13} {:>13} {:>10} {:>12}\n", "key", "block", "slot",
                  "weight seen", "expected", "bound", "score off by");
  for (const std::int64_t key : keys) {
    const KeyPlace place = place_of(inputs, explanation.place.sequence, key);
    const std::optional<double> error = probe.score_error(key);
    text += fmt::format("  {:>6} {:>6} {:>5} {:>13.6g} {:>13.6g} {:>10.2g} {:>12}\n", key,
                        place.block, place.slot, probe.seen[key], probe.expected[key],
                        probe.bound[key], error ? fmt::format("{:+.4g}", *error) : "unknown");
  }
  if (const std::size_t others = wrong.size() - keys.size(); others > 0) {
    text += fmt::format("  not shown: {} whose weight{} wrong, too\n", others_text(others),
                        others == 1 ? " is" : "s are");
  }
  return text;
}

std::string probe_text(const Explanation& explanation, const PagedAttentionInputs& inputs) {
  if (!explanation.probe && explanation.is_empty_row)
    return "weights    none: the row has no key to attend to\n";
  if (!explanation.probe) {
    return fmt::format("weights    not measured: {}\n", explanation.why_no_probe);
  }
  const WeightProbe& probe = *explanation.probe;
  const HeadRow& place = explanation.place;
  std::string text = fmt::format(
      "weights    of sequence {}, row {}, head {}, measured with V of ones and zeros in {} {}\n",
      place.sequence, place.row, place.head, probe.runs, probe.runs == 1 ? "run" : "runs");
  text += fmt::format("  lse_ln seen {:.9g}, expected {:.9g}, bound {:.2g}\n", probe.lse_ln_seen,
                      probe.lse_ln_expected, probe.lse_ln_bound);
  return text + keys_text(explanation, inputs);
}

std::string diagnosis_text(const Explanation& explanation, const PagedAttentionInputs& inputs) {
  const Diagnosis& diagnosis = explanation.diagnosis;
  std::string text = fmt::format("diagnosis  {}: {}\n", step_name(diagnosis.step), diagnosis.why);
  if (diagnosis.key) {
    const KeyPlace place = place_of(inputs, explanation.place.sequence, *diagnosis.key);
    text += fmt::format("  first at key {}: block {}, slot {}\n", *diagnosis.key, place.block,
                        place.slot);
  }
  if (diagnosis.step == Step::kMax || diagnosis.names_max || explanation.is_empty_row) return text;
  return text + "  cannot be identified: the running maximum, which cancels from out and lse\n";
}

}  // namespace

Explanation explain(const Backend& backend, const LawCase& law_case, BoundKind bound_kind) {
  const CallOptions options = backend.options_for(law_case.placement);
  const PlacedProblem placed(law_case.problem, law_case.placement);
  const PagedAttentionInputs& inputs = placed.inputs();
  const auto seen = result_or_reason(backend.call(inputs, options));
  if (!seen.is_ok()) return {.not_run = seen.status().message()};
  const reference::KernelNumerics numerics = backend.numerics(inputs, options);
  const auto right = reference::bounded_attention(inputs, numerics);
  FailedCase of{inputs, seen.value(), right, numerics, bound_kind};
  // By default, memory holds NaN.
  std::optional<StaleRows> stale;
  if (has_no_numbers(seen.value())) stale = find_stale_rows(backend, inputs, options);
  if (stale) of.stale = &*stale;
  Explanation explanation = compared(of, compare(inputs, seen.value(), right.exact, of.bound()));
  if (explanation.is_wrong()) look_at_row(&backend, law_case, of, explanation);
  return explanation;
}

Explanation explain_results(const reference::AttentionResult& seen, const Comparison& comparison,
                            const LawCase& law_case, BoundKind bound_kind,
                            const reference::DeclaredNumerics& declared) {
  const PlacedProblem placed(law_case.problem, law_case.placement);
  const PagedAttentionInputs& inputs = placed.inputs();
  const auto numerics =
      with_declared(declared, reference::third_party_numerics(inputs.q.type, inputs.kv.k.type));
  const auto right = reference::bounded_attention(inputs, numerics);
  const FailedCase of{inputs, seen, right, numerics, bound_kind};
  Explanation explanation = compared(of, comparison);
  if (explanation.is_wrong()) look_at_row(nullptr, law_case, of, explanation);
  return explanation;
}

std::string explanation_text(const Explanation& explanation, const LawCase& law_case) {
  if (explanation.not_run) {
    return fmt::format("nothing to explain\n{}\n", indented(*explanation.not_run));
  }
  const std::string compared =
      fmt::format("oracle     {}\n", indented(explanation.comparison.text()).substr(2));
  if (explanation.comparison.passed()) return compared;
  const PlacedProblem placed(law_case.problem, law_case.placement);
  return compared + probe_text(explanation, placed.inputs()) +
         diagnosis_text(explanation, placed.inputs()) + faults_text(explanation.faults);
}

}  // namespace recto::verify
