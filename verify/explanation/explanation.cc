#include "verify/explanation/explanation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/error_bound.h"
#include "reference/kv_cache_reader.h"
#include "verify/explanation/empty_row.h"
#include "verify/explanation/stale_results.h"
#include "verify/explanation/weight_facts.h"

namespace recto::verify {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Without a probe: what out and lse tell.
Diagnosis diagnose_outputs(const Comparison& comparison) {
  const bool is_lse_ln = comparison.worst->place.tensor == ComparedTensor::kLseLn ||
                         comparison.first->place.tensor == ComparedTensor::kLseLn;
  const ComparedValues& worst = comparison.worst->values;
  if (is_lse_ln && worst.seen == -kInfinity) {
    return {.why = std::string("the lse is -inf, as of no key: ") + kNoWeightCauses,
            .names_max = true};
  }
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
  if (!is_right && found == -kInfinity) {
    return {.step = Step::kScores,
            .why = fmt::format("lse_ln is -inf in place of {:.9g}, as of no key: {}", expected,
                               kNoWeightCauses),
            .names_max = true};
  }
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

// What is asked about a row that is wrong, and what is known of it.
struct Asked {
  const Backend& backend;
  const LawCase& law_case;
  BoundKind bound_kind;
  const PagedAttentionInputs& inputs;
  const reference::AttentionResult& seen;
  const reference::BoundedResult& oracle;

  const reference::AttentionResult& bound() const {
    return bound_kind == BoundKind::kHard ? oracle.hard : oracle.sharp;
  }
  std::int64_t row_of(const RowPlace& place) const { return row_index(law_case.problem, place); }
};

bool has_no_numbers(const reference::AttentionResult& seen) {
  const auto is_nan = [](double value) { return std::isnan(value); };
  return std::ranges::any_of(seen.out, is_nan) || std::ranges::any_of(seen.lse_ln, is_nan);
}

// Asks the backend again about a row without keys: whether any get weight all the same.
void look_at_empty_row(const Asked& asked, const StaleRow& stale, Explanation& explanation) {
  const RowPlace& place = explanation.place;
  EmptyRow row = empty_row(asked.inputs, place, asked.seen, asked.oracle, asked.bound_kind);
  row.out_is_stale = !stale.dims.empty();
  row.lse_ln_is_stale = stale.has_lse_ln;
  if (row.context_length > 0 && !row.out_is_stale) {
    const auto probe = probe_row(asked.backend, asked.law_case, place, asked.bound_kind);
    if (probe.is_ok() && weights_give(probe.value(), asked.inputs, place, row.out)) {
      explanation.probe = probe.value();
      row.attended = extra_keys(probe.value());
    }
  }
  explanation.diagnosis = diagnose_empty_row(row);
}

// Of a row with keys that follows what memory held.
Diagnosis diagnose_stale_row(const StaleRow& row, std::int64_t head_dim) {
  const auto dims = std::ssize(row.dims);
  const std::string out = dims == head_dim
                              ? "out"
                              : fmt::format("out in {} of {} dims, the first of them {},", dims,
                                            head_dim, dims == 0 ? 0 : row.dims.front());
  const std::string what = dims == 0 ? "lse_ln" : row.has_lse_ln ? out + " and lse_ln" : out;
  const bool is_one = dims == 0 || !row.has_lse_ln;
  if (row.is_unwritten) {
    return {.step = dims == 0 ? Step::kSum : Step::kOutput,
            .why = fmt::format("{} {} what memory held before the call: nothing is written there",
                               what, is_one ? "is" : "are")};
  }
  return {.why = fmt::format("{} {} what memory held before the call: something is added to it, or "
                             "it is read before it is written",
                             what, is_one ? "follows" : "follow")};
}

FailedRow failed_row(const Asked& asked, const RowPlace& place) {
  const std::int64_t at = asked.row_of(place);
  const auto sequence =
      reference::sequences_of(asked.inputs)[static_cast<std::size_t>(place.sequence)];
  const std::int64_t group = asked.inputs.q.num_heads / asked.inputs.kv.k.num_kv_heads;
  FailedRow row{.lse_ln = asked.seen.lse_ln_at(at, place.head),
                .v = reference::gather_head(asked.inputs.kv.v, sequence.block_table_row,
                                            sequence.context_length, place.head / group)};
  for (std::int64_t dim = 0; dim < asked.seen.head_dim; ++dim) {
    row.out.push_back(asked.seen.out_at(at, place.head, dim));
    row.out_expected.push_back(asked.oracle.exact.out_at(at, place.head, dim));
    row.out_bound.push_back(asked.bound().out_at(at, place.head, dim));
  }
  return row;
}

// What shows with the case's own V alone may also not show each time.
std::optional<Diagnosis> diagnose_second_call(const Asked& asked, const RowPlace& place) {
  const auto again = try_run(asked.backend, asked.inputs);
  const std::string start =
      "with V of ones and zeros weights and lse are right; the case made again ";
  if (!again.status().is_ok()) return Diagnosis{.why = start + "ends: " + again.status().message()};
  ElementComparer row(asked.inputs);
  const std::int64_t at = asked.row_of(place);
  const auto expect = [&](double seen, double expected, double bound) {
    row.expect_within({}, {.seen = seen, .expected = expected, .bound = bound});
  };
  expect(again.value().lse_ln_at(at, place.head), asked.oracle.exact.lse_ln_at(at, place.head),
         asked.bound().lse_ln_at(at, place.head));
  for (std::int64_t dim = 0; dim < asked.seen.head_dim; ++dim) {
    expect(again.value().out_at(at, place.head, dim),
           asked.oracle.exact.out_at(at, place.head, dim),
           asked.bound().out_at(at, place.head, dim));
  }
  if (!row.comparison().passed()) return std::nullopt;
  const Comparison all = compare(asked.inputs, again.value(), asked.oracle.exact, asked.bound());
  std::string why = start + "is right in this row";
  if (!all.passed()) {
    const ElementPlace& other = all.worst->place;
    why += fmt::format(", and wrong in sequence {}, row {}, head {}", other.sequence, other.row,
                       other.head);
  }
  return Diagnosis{.why = why + ": it is not wrong each time"};
}

void look_at_row(const Asked& asked, const StaleRow& stale, Explanation& explanation) {
  if (const auto diagnosis = diagnose_no_number(explanation.comparison.worst->values)) {
    explanation.why_no_probe = "there is nothing to hold them against";
    explanation.diagnosis = *diagnosis;
    return;
  }
  if (stale.is_stale()) {
    explanation.why_no_probe = "what is seen of the row follows what memory held before";
    explanation.diagnosis = diagnose_stale_row(stale, asked.seen.head_dim);
    return;
  }
  const auto probe = probe_row(asked.backend, asked.law_case, explanation.place, asked.bound_kind);
  if (!probe.status().is_ok()) {
    explanation.why_no_probe = probe.status().message();
    explanation.diagnosis = diagnose_outputs(explanation.comparison);
    return;
  }
  explanation.probe = probe.value();
  explanation.diagnosis = diagnose(probe.value(), failed_row(asked, explanation.place));
  if (shows_fault(probe.value())) return;
  if (const auto diagnosis = diagnose_second_call(asked, explanation.place))
    explanation.diagnosis = *diagnosis;
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
  const Asked asked{backend, law_case, bound_kind, inputs, seen.value(), oracle};
  explanation.comparison = compare(inputs, seen.value(), oracle.exact, asked.bound());
  if (explanation.comparison.passed()) return explanation;
  const ElementPlace& worst = explanation.comparison.worst->place;
  explanation.place = {.sequence = worst.sequence, .row = worst.row, .head = worst.head};
  // Without a pattern of its own, memory holds NaN.
  const auto stale = has_no_numbers(seen.value()) ? StaleResults::find(backend, inputs)
                                                  : std::optional<StaleResults>();
  explanation.hypotheses =
      try_hypotheses(backend, law_case, seen.value(), bound_kind, stale ? &*stale : nullptr);
  const StaleRow stale_row =
      stale ? stale->at(asked.row_of(explanation.place), worst.head) : StaleRow();
  explanation.is_empty_row = has_no_key(inputs, explanation.place);
  if (explanation.is_empty_row) {
    look_at_empty_row(asked, stale_row, explanation);
  } else {
    look_at_row(asked, stale_row, explanation);
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
  explanation.hypotheses = try_hypotheses(judged, law_case, seen, bound_kind, nullptr);
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

}  // namespace recto::verify
