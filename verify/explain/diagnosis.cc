#include "verify/explain/diagnosis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/kv_cache_reader.h"

namespace recto::verify {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool lse_ln_is_right(const FailedCase& of, std::int64_t row, std::int64_t head) {
  const double seen = of.seen.lse_ln_at(row, head);
  const double expected = of.right.exact.lse_ln_at(row, head);
  return seen == expected || std::abs(seen - expected) <= of.bound().lse_ln_at(row, head);
}

// The row's output, [head_dim_v].
struct RowOutput {
  RowOutput(const FailedCase& of, const HeadRow& at)
      : seen(out_of(of.seen, of.row_of(at), at.head)),
        expected(out_of(of.right.exact, of.row_of(at), at.head)),
        bound(out_of(of.bound(), of.row_of(at), at.head)) {}

  bool is_right(std::int64_t dim) const { return error(dim) <= bound[dim]; }
  bool is_right() const { return ((seen - expected).array().abs() <= bound.array()).all(); }
  double error(std::int64_t dim) const { return std::abs(seen[dim] - expected[dim]); }

  reference::Vector seen;
  reference::Vector expected;
  reference::Vector bound;
};

// Whether the observed weights, each within its bound, account for most of the output's error.
bool weights_give_error(const WeightProbe& probe, const RowOutput& out,
                        const reference::Matrix& v) {
  for (std::int64_t dim = 0; dim < v.cols(); ++dim) {
    if (out.is_right(dim)) continue;
    const double given = probe.seen.dot(v.col(dim));
    if (!(std::abs(given - out.seen[dim]) <= kSmallPart * out.error(dim))) return false;
  }
  return true;
}

// V does not enter the lse, yet the lse differs between runs.
Diagnosis of_another_lse_ln(const WeightProbe& probe, double lse_ln) {
  const std::string runs =
      probe.other_lse_ln
          ? fmt::format("{:.9g} in one run with V of ones and zeros and {:.9g} in another",
                        probe.lse_ln_seen, *probe.other_lse_ln)
          : fmt::format("{:.9g} with the case's own V and {:.9g} with V of ones and zeros", lse_ln,
                        probe.lse_ln_seen);
  return {.why = "the lse is " + runs +
                 ", although V does not enter it: the fault varies between runs, or depends on V "
                 "or on earlier calls; the weights do not show what the case does"};
}

// Precondition: weights and lse are right.
std::optional<Diagnosis> of_infinite_output(const RowOutput& out) {
  Keys infinite;  // dims
  for (std::int64_t dim = 0; dim < out.seen.size(); ++dim) {
    if (std::isfinite(out.seen[dim]) || !std::isfinite(out.expected[dim])) continue;
    if (std::isnan(out.seen[dim])) return std::nullopt;
    infinite.push_back(dim);
  }
  if (infinite.empty()) return std::nullopt;
  const std::int64_t first = infinite.front();
  return Diagnosis{
      .step = Step::kOutput,
      .why = fmt::format(
          "weights and lse are right with V of ones and zeros; with the case's own "
          "V the output is infinite in {} of {} dims, in dim {} {} in place of "
          "{:.6g}: products with V, or their sum, overflow before the division or scaling, perhaps "
          "with weights relative to too low a maximum, or values of V from other slots are added",
          infinite.size(), out.seen.size(), first, out.seen[first], out.expected[first]),
      .names_max = true};
}

Diagnosis of_right_weights(const WeightProbe& probe, const RowOutput& out,
                           const reference::Matrix& v) {
  const bool lse_ln_is_right = probe.lse_ln_is_right();
  const auto infinite = of_infinite_output(out);
  if (lse_ln_is_right && infinite) return *infinite;
  if (!out.is_right() && weights_give_error(probe, out, v)) {
    return {.why =
                "each weight is off by less than its bound, and together they explain the output: "
                "too small to identify the step"};
  }
  if (lse_ln_is_right && out.is_right()) {
    return {.why =
                "the lse is just beyond its bound with the case's own V, and just within it with V "
                "of ones and zeros: too small to identify the step"};
  }
  if (lse_ln_is_right) {
    return {.step = Step::kOutput,
            .why =
                "weights and lse are right with V of ones and zeros; with the case's own V the "
                "output is wrong: V's values, addresses or scale, the sum of products, or a NaN "
                "with weight 0"};
  }
  const double error = probe.lse_ln_error();
  const Keys visible = probe.visible_keys();
  // Next to a sink of some weight, the key's weight is less than 1 and depends on its score.
  if (visible.size() == 1 &&
      probe.expected[visible.front()] >= 1.0 - probe.bound[visible.front()]) {
    return {.step = Step::kScores,
            .why = fmt::format("one key is visible, so its weight is 1 whatever its score; the lse "
                               "is off by {:.6g}: its score, or the sum's logarithm",
                               error),
            .key = visible.front()};
  }
  // Scores with an error this small would change no weight measurably.
  if (std::abs(error) <= 2.0 * probe.bound.sum()) {
    return {.why = fmt::format("all weights are within their bounds, and the lse is off by {:.6g}: "
                               "too small to identify the step",
                               error)};
  }
  return {.step = Step::kSum,
          .why = fmt::format("all weights are right, and so is the sum that they were divided by; "
                             "the lse is off by {:.6g} ({:.6g} times what it should be): its "
                             "logarithm, or a common shift of all scores",
                             error, probe.lse_ln_seen / probe.lse_ln_expected)};
}

}  // namespace

Diagnosis diagnose(const WeightProbe& probe, const FailedCase& of, const HeadRow& at) {
  const double lse_ln = of.seen.lse_ln_at(of.row_of(at), at.head);
  if (!probe.is_same_lse_ln(probe.other_lse_ln.value_or(lse_ln)))
    return of_another_lse_ln(probe, lse_ln);
  const bool is_infinite = std::isinf(probe.lse_ln_seen) && probe.lse_ln_seen > 0.0;
  if (is_infinite && std::isfinite(probe.lse_ln_expected)) {
    return {.step = Step::kMax,
            .why =
                "the lse is infinite, so the sum of exponentials overflows: relative to the row's "
                "own maximum, none exceeds 1"};
  }
  if (!probe.wrong_keys().empty() || std::isnan(probe.lse_ln_seen))
    return diagnose_wrong_weights(probe);
  const reference::SequenceRows& sequence = of.sequence_of(at);
  return of_right_weights(probe, {of, at},
                          reference::gather_head(of.inputs.kv.v, sequence.block_table_row,
                                                 sequence.context_length, at.head / of.group()));
}

std::optional<Diagnosis> diagnose_no_number(const ComparedValues& values) {
  if (!std::isnan(values.expected)) return std::nullopt;
  const std::string cause =
      "the row's inputs hold NaN, or infinities that combine to NaN: outside the domain, not "
      "judged";
  return Diagnosis{.why = std::isnan(values.seen)
                              ? "found NaN, and expected NaN: " + cause
                              : "found a number, expected NaN as in the oracle: " + cause};
}

Diagnosis diagnose_stale_row(const StaleRow& row, std::int64_t head_dim) {
  const auto dims = std::ssize(row.dims);
  const std::string out = dims == head_dim || dims == 0
                              ? "out"
                              : fmt::format("out in {} of {} dims, the first of them {},", dims,
                                            head_dim, row.dims.front());
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

Diagnosis diagnose_outputs(const Comparison& comparison) {
  const bool is_lse_ln = comparison.worst->place.tensor == ComparedTensor::kLseLn ||
                         comparison.first->place.tensor == ComparedTensor::kLseLn;
  if (!is_lse_ln) {
    return {.why =
                "outputs are wrong: if the lse is right, the weights or V, otherwise the scores"};
  }
  if (comparison.worst->values.seen == -kInfinity) {
    return {.why = std::string("the lse is -inf, as for a row without keys: ") + kNoWeightCauses,
            .names_max = true};
  }
  return {.why = "the lse is wrong: scores, or their sum"};
}

Diagnosis diagnose_results(const FailedCase& of, const HeadRow& at) {
  if (of.seen.lse_ln.empty())
    return {.why = "outputs are wrong; results with lse_ln would show whether the scores are"};
  const std::int64_t row = of.row_of(at);
  if (lse_ln_is_right(of, row, at.head)) {
    return {.step = Step::kWeights,
            .why =
                "lse_ln is right, so the scores and their sum are, too: the weights, or V's "
                "values, addresses or scale"};
  }
  const double seen = of.seen.lse_ln_at(row, at.head);
  const std::string start = fmt::format("lse_ln is {:.9g} in place of {:.9g}", seen,
                                        of.right.exact.lse_ln_at(row, at.head));
  if (seen == -kInfinity) {
    return {.step = Step::kScores,
            .why = start + ", as for a row without keys: " + kNoWeightCauses,
            .names_max = true};
  }
  return {.step = Step::kScores,
          .why = start + ": the scores, the set of visible keys, or the sum"};
}

Diagnosis diagnose_empty_row(const FailedCase& of, const HeadRow& at, const StaleRow& stale,
                             const Keys& attended) {
  const std::int64_t row = of.row_of(at);
  std::string why = "the row has no key to attend to: ";
  why += of.sequence_of(at).context_length == 0
             ? "its context is empty"
             : "its position is before the first key of its context";
  why += ". By definition out is zeros, and lse_ln is ";
  why += of.inputs.options.sinks.empty()
             ? "-inf"
             : fmt::format("the head's sink, {:.6g}", of.right.exact.lse_ln_at(row, at.head));
  const reference::Vector out = out_of(of.seen, row, at.head);
  const auto first = std::ranges::find_if(out, [](double value) { return value != 0.0; });
  if (first == out.end()) {
    why += "; found: out is zeros";
  } else if (out.array().isNaN().all()) {
    why += "; found: out is NaN";
  } else {
    why += fmt::format("; found: out is not zeros: {:.6g} in dim {}", *first, first - out.begin());
  }
  if (!of.seen.lse_ln.empty()) {
    why += lse_ln_is_right(of, row, at.head)
               ? ", lse_ln is right"
               : fmt::format(", lse_ln is {:.6g}", of.seen.lse_ln_at(row, at.head));
  }
  if (stale.is_stale()) {
    why += fmt::format(
        "; {} what memory held before the call: it is not written, or something is added to it",
        stale.dims.empty() ? "lse_ln follows"
        : stale.has_lse_ln ? "both follow"
                           : "out follows");
  } else if (!attended.empty()) {
    why += fmt::format("; {} {} weight nevertheless: the mask", list_text(attended),
                       attended.size() == 1 ? "gets" : "get");
  }
  if (!attended.empty()) return {.step = Step::kScores, .why = why, .key = attended.front()};
  return {.step = first == out.end() ? Step::kSum : Step::kOutput, .why = why};
}

bool weights_give_output(const WeightProbe& probe, const FailedCase& of, const HeadRow& at) {
  if (!(probe.seen.sum() > 0.0)) return false;
  const reference::SequenceRows& sequence = of.sequence_of(at);
  const reference::Matrix v = reference::gather_head(of.inputs.kv.v, sequence.block_table_row,
                                                     sequence.context_length, at.head / of.group());
  const reference::Vector out = out_of(of.seen, of.row_of(at), at.head);
  const reference::Vector error = (v.transpose() * probe.seen - out).cwiseAbs();
  const reference::Vector magnitude = v.cwiseAbs().transpose() * probe.seen.cwiseAbs();
  // Two roundings to bf16, with a generous margin.
  constexpr double kRelative = 0.02;
  return (error.array() <= kRelative * magnitude.array()).all();
}

}  // namespace recto::verify
