#include "verify/explanation/explanation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reference/error_bound.h"
#include "verify/explanation/empty_row.h"
#include "verify/explanation/stale_results.h"
#include "verify/explanation/weight_facts.h"

namespace recto::verify {
namespace {

constexpr std::size_t kKeysShown = 12;

std::string indented(const std::string& text) {
  std::string result = "  ";
  for (const char c : text) {
    result += c;
    if (c == '\n') result += "  ";
  }
  return result;
}

// Without a probe: what out and lse tell.
Diagnosis diagnose_outputs(const Comparison& comparison) {
  const bool is_lse_ln = comparison.worst->place.tensor == ComparedTensor::kLseLn ||
                         comparison.first->place.tensor == ComparedTensor::kLseLn;
  if (is_lse_ln) return {.step = Step::kUnknown, .why = "the lse is wrong: scores, or their sum"};
  return {.step = Step::kUnknown,
          .why = "outputs are wrong: where the lse is right, it is weights or V, else the scores"};
}

// The same where nobody can be asked again.
Diagnosis diagnose_results(const reference::AttentionResult& seen, std::int64_t row,
                           const RowPlace& place, const reference::BoundedResult& oracle,
                           BoundKind bound_kind) {
  if (seen.lse_ln.empty()) {
    return {.step = Step::kUnknown,
            .why = "outputs are wrong; lse_ln beside them would tell whether the scores are"};
  }
  const auto& bound = bound_kind == BoundKind::kHard ? oracle.hard : oracle.sharp;
  const double expected = oracle.exact.lse_ln_at(row, place.head);
  const double found = seen.lse_ln_at(row, place.head);
  const bool is_right =
      found == expected || std::abs(found - expected) <= bound.lse_ln_at(row, place.head);
  if (!is_right) {
    return {.step = Step::kScores,
            .why = fmt::format("lse_ln is {:.9g} in place of {:.9g}: the scores, which keys are "
                               "seen, or their sum",
                               found, expected)};
  }
  return {.step = Step::kWeights,
          .why =
              "lse_ln is right, and so are the scores and their sum: the weights, or V's "
              "values, addresses or scale"};
}

// Of an element that the oracle has no number for, whatever the backend makes of it.
std::optional<Diagnosis> diagnose_no_number(const ComparedValues& values) {
  if (!std::isnan(values.expected)) return std::nullopt;
  const std::string cause =
      "what the row addresses holds NaN, or infinities that meet: outside the domain, where "
      "nothing "
      "is judged";
  return Diagnosis{.why = std::isnan(values.seen)
                              ? "NaN is seen, and expected as well: " + cause
                              : "a number is seen where the oracle has NaN: " + cause};
}

// Where a key lies in the cache.
struct KeyPlace {
  std::int64_t block = 0;
  std::int64_t slot = 0;
};

KeyPlace place_of(const PagedAttentionInputs& inputs, std::int64_t sequence, std::int64_t key) {
  const std::int64_t block_size = inputs.kv.k.block_size;
  const std::int32_t* row = inputs.block_table.data + sequence * inputs.block_table.row_stride;
  return {.block = row[key / block_size], .slot = key % block_size};
}

// Keys to be shown: those whose weights are wrong, the first ones of them, or of all.
std::vector<std::int64_t> shown_keys(const RowProbe& probe) {
  std::vector<std::int64_t> wrong;
  for (std::size_t key = 0; key < probe.seen.size(); ++key) {
    const bool is_right = std::abs(probe.seen[key] - probe.expected[key]) <= probe.bound[key];
    if (!is_right) wrong.push_back(static_cast<std::int64_t>(key));
  }
  if (wrong.size() > kKeysShown) wrong.resize(kKeysShown);
  return wrong;
}

std::string keys_text(const Explanation& explanation, const PagedAttentionInputs& inputs) {
  const RowProbe& probe = *explanation.probe;
  const std::vector<std::int64_t> keys = shown_keys(probe);
  if (keys.empty()) return "";
  std::string text =
      fmt::format("  {:>6} {:>6} {:>5} {:>13} {:>13} {:>10} {:>12}\n", "key", "block", "slot",
                  "weight seen", "expected", "bound", "score off by");
  for (const std::int64_t key : keys) {
    const auto i = static_cast<std::size_t>(key);
    const KeyPlace place = place_of(inputs, explanation.place.sequence, key);
    const std::optional<double> error = implied_score_error(probe, key);
    text += fmt::format("  {:>6} {:>6} {:>5} {:>13.6g} {:>13.6g} {:>10.2g} {:>12}\n", key,
                        place.block, place.slot, probe.seen[i], probe.expected[i], probe.bound[i],
                        error ? fmt::format("{:+.4g}", *error) : "not told");
  }
  return text;
}

std::string probe_text(const Explanation& explanation, const PagedAttentionInputs& inputs) {
  if (!explanation.probe && explanation.is_empty_row)
    return "weights    none: the row has no key to attend to\n";
  if (!explanation.probe) {
    return fmt::format("weights    not seen: {}\n", explanation.why_no_probe.value_or(""));
  }
  const RowProbe& probe = *explanation.probe;
  const RowPlace& place = explanation.place;
  std::string text = fmt::format(
      "weights    of sequence {}, row {}, head {}, as V of ones and zeros shows them in {} {}\n",
      place.sequence, place.row, place.head, probe.runs, probe.runs == 1 ? "run" : "runs");
  text += fmt::format("  lse_ln seen {:.9g}, expected {:.9g}, bound {:.2g}\n", probe.lse_ln_seen,
                      probe.lse_ln_expected, probe.lse_ln_bound);
  return text + keys_text(explanation, inputs);
}

std::string diagnosis_text(const Explanation& explanation, const PagedAttentionInputs& inputs) {
  const Diagnosis& diagnosis = explanation.diagnosis;
  std::string text = fmt::format("departs    {}: {}\n", step_name(diagnosis.step), diagnosis.why);
  if (diagnosis.key) {
    const KeyPlace place = place_of(inputs, explanation.place.sequence, *diagnosis.key);
    text += fmt::format("  first at key {}: block {}, slot {}\n", *diagnosis.key, place.block,
                        place.slot);
  }
  if (diagnosis.step == Step::kMax || explanation.is_empty_row) return text;
  return text + "  not told: the running maximum, which cancels from out and lse\n";
}

// Asks the backend again about a row without keys: whether any get weight all the same, and whether
// what memory held before shows.
void look_at_empty_row(const Backend& backend, const LawCase& law_case, BoundKind bound_kind,
                       EmptyRow& row, Explanation& explanation) {
  const PlacedProblem placed(law_case.problem, law_case.placement);
  const RowPlace& place = explanation.place;
  const std::int64_t at = row_index(law_case.problem, place);
  if (const auto stale = StaleResults::find(backend, placed.inputs())) {
    row.out_is_stale = stale->has_out(at, place.head);
    row.lse_ln_is_stale = stale->has_lse_ln(at, place.head);
  }
  if (row.context_length > 0 && !row.out_is_stale) {
    const auto probe = probe_row(backend, law_case, place, bound_kind);
    if (probe.is_ok() && weights_give(probe.value(), placed.inputs(), place, row.out)) {
      explanation.probe = probe.value();
      row.attended = extra_keys(probe.value());
    }
  }
  explanation.diagnosis = diagnose_empty_row(row);
}

}  // namespace

Explanation explain(const Backend& judged, const LawCase& law_case, BoundKind bound_kind) {
  const Backend backend = as_placed(judged, law_case.placement);
  Explanation explanation;
  const PlacedProblem placed(law_case.problem, law_case.placement);
  const PagedAttentionInputs& inputs = placed.inputs();
  const auto seen = try_run(backend, inputs);
  if (!seen.status().is_ok()) {
    explanation.not_run = seen.status().message();
    return explanation;
  }
  const auto oracle = reference::bounded_attention(inputs, backend.numerics(inputs));
  explanation.comparison = compare(inputs, seen.value(), oracle.exact,
                                   bound_kind == BoundKind::kHard ? oracle.hard : oracle.sharp);
  if (explanation.comparison.passed()) return explanation;
  const ElementPlace& worst = explanation.comparison.worst->place;
  explanation.place = {.sequence = worst.sequence, .row = worst.row, .head = worst.head};
  explanation.hypotheses = try_hypotheses(backend, law_case, seen.value(), bound_kind);
  explanation.is_empty_row = has_no_key(inputs, explanation.place);
  if (explanation.is_empty_row) {
    EmptyRow row = empty_row(inputs, explanation.place, seen.value(), oracle, bound_kind);
    look_at_empty_row(backend, law_case, bound_kind, row, explanation);
    return explanation;
  }
  if (const auto diagnosis = diagnose_no_number(explanation.comparison.worst->values)) {
    explanation.why_no_probe = "there is nothing to hold them against";
    explanation.diagnosis = *diagnosis;
    return explanation;
  }
  const auto probe = probe_row(backend, law_case, explanation.place, bound_kind);
  if (probe.status().is_ok()) {
    explanation.probe = probe.value();
    explanation.diagnosis = diagnose(probe.value());
  } else {
    explanation.why_no_probe = probe.status().message();
    explanation.diagnosis = diagnose_outputs(explanation.comparison);
  }
  return explanation;
}

Explanation explain_results(const reference::AttentionResult& seen, const Comparison& comparison,
                            const LawCase& law_case, BoundKind bound_kind) {
  Explanation explanation;
  explanation.comparison = comparison;
  if (comparison.passed()) return explanation;
  Backend judged;  // of which only the numerics are asked
  judged.numerics = [](const PagedAttentionInputs& inputs) {
    return reference::third_party_numerics(inputs.q.type, inputs.kv.k.type);
  };
  const PlacedProblem placed(law_case.problem, law_case.placement);
  const auto oracle =
      reference::bounded_attention(placed.inputs(), judged.numerics(placed.inputs()));
  const ElementPlace& worst = comparison.worst->place;
  explanation.place = {.sequence = worst.sequence, .row = worst.row, .head = worst.head};
  explanation.why_no_probe = "results in a file cannot be asked again, with another V";
  explanation.hypotheses = try_hypotheses(judged, law_case, seen, bound_kind);
  explanation.is_empty_row = has_no_key(placed.inputs(), explanation.place);
  if (explanation.is_empty_row) {
    explanation.diagnosis =
        diagnose_empty_row(empty_row(placed.inputs(), explanation.place, seen, oracle, bound_kind));
    return explanation;
  }
  const auto no_number = diagnose_no_number(comparison.worst->values);
  explanation.diagnosis =
      no_number ? *no_number
                : diagnose_results(seen, row_index(law_case.problem, explanation.place),
                                   explanation.place, oracle, bound_kind);
  return explanation;
}

std::string explanation_text(const Explanation& explanation, const LawCase& law_case) {
  if (explanation.not_run) {
    return fmt::format("nothing to look at\n{}\n", indented(*explanation.not_run));
  }
  const std::string compared =
      fmt::format("oracle     {}\n", indented(explanation.comparison.text()).substr(2));
  if (explanation.comparison.passed()) return compared;
  const PlacedProblem placed(law_case.problem, law_case.placement);
  return compared + probe_text(explanation, placed.inputs()) +
         diagnosis_text(explanation, placed.inputs()) + hypotheses_text(explanation.hypotheses);
}

}  // namespace recto::verify
