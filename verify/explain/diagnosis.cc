#include "verify/explain/diagnosis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/kv_cache_reader.h"

namespace recto::verify {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// V of the row's context: [context_length, head_dim_v].
reference::Matrix values_of(const FailedCase& of, const HeadRow& at) {
  const reference::SequenceRows& sequence = of.sequence_of(at);
  return reference::gather_head(of.inputs.kv.v, sequence.block_table_row, sequence.context_length,
                                at.head / of.group());
}

// Whether the observed weights, each within its bound, account for most of the output's error.
bool weights_give_error(const WeightProbe& probe, const FailedCase& of, const HeadRow& at) {
  const reference::Vector given = values_of(of, at).transpose() * probe.seen;
  for (std::int64_t dim = 0; dim < given.size(); ++dim) {
    const ComparedValues out = of.out_at(at, dim);
    if (is_right(out)) continue;
    if (!(std::abs(given[dim] - out.seen) <= kSmallPart * std::abs(out.seen - out.expected)))
      return false;
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

// Nothing if no dim is infinite, or one is NaN. Precondition: weights and lse are right.
std::optional<Diagnosis> of_infinite_output(const FailedCase& of, const HeadRow& at) {
  Keys infinite;  // dims
  for (std::int64_t dim = 0; dim < of.seen.head_dim; ++dim) {
    const ComparedValues out = of.out_at(at, dim);
    if (std::isfinite(out.seen) || !std::isfinite(out.expected)) continue;
    if (std::isnan(out.seen)) return std::nullopt;
    infinite.push_back(dim);
  }
  if (infinite.empty()) return std::nullopt;
  const ComparedValues first = of.out_at(at, infinite.front());
  return Diagnosis{
      .step = Step::kOutput,
      .why = fmt::format(
          "weights and lse are right with V of ones and zeros; with the case's own "
          "V the output is infinite in {} of {} dims, in dim {} {} in place of "
          "{:.6g}: products with V, or their sum, overflow before the division or scaling, perhaps "
          "with weights relative to too low a maximum, or values of V from other slots are added",
          infinite.size(), of.seen.head_dim, infinite.front(), first.seen, first.expected),
      .names_max = true};
}

// Precondition: the lse is right.
Diagnosis of_wrong_output(const FailedCase& of, const HeadRow& at) {
  if (of.count_wrong_out(at) == 0) {
    return {.why =
                "the lse is just beyond its bound with the case's own V, and just within it with V "
                "of ones and zeros: too small to identify the step"};
  }
  return {.step = Step::kOutput,
          .why =
              "weights and lse are right with V of ones and zeros; with the case's own V the "
              "output is wrong: V's values, addresses or scale, the sum of products, or a NaN "
              "with weight 0"};
}

// Precondition: all weights are right.
Diagnosis of_wrong_logarithm(const WeightProbe& probe) {
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

Diagnosis of_right_weights(const WeightProbe& probe, const FailedCase& of, const HeadRow& at) {
  const bool lse_ln_is_right = probe.lse_ln_is_right();
  const auto infinite = of_infinite_output(of, at);
  if (lse_ln_is_right && infinite) return *infinite;
  if (of.count_wrong_out(at) > 0 && weights_give_error(probe, of, at)) {
    return {.why =
                "each weight is off by less than its bound, and together they explain the output: "
                "too small to identify the step"};
  }
  return lse_ln_is_right ? of_wrong_output(of, at) : of_wrong_logarithm(probe);
}

// "found: ..." for a row without keys.
std::string found_text(const FailedCase& of, const HeadRow& at) {
  const reference::Vector out = row_output(of.seen, of.row_of(at), at.head).out;
  const auto first = std::ranges::find_if(out, [](double value) { return value != 0.0; });
  std::string text =
      first == out.end() ? "found: out is zeros"
      : out.array().isNaN().all()
          ? "found: out is NaN"
          : fmt::format("found: out is not zeros: {:.6g} in dim {}", *first, first - out.begin());
  if (!of.has_lse_ln()) return text;
  const ComparedValues lse_ln = of.lse_ln_at(at);
  return text +
         (is_right(lse_ln) ? ", lse_ln is right" : fmt::format(", lse_ln is {:.6g}", lse_ln.seen));
}

}  // namespace

Diagnosis diagnose(const WeightProbe& probe, const FailedCase& of, const HeadRow& at) {
  const double lse_ln = of.lse_ln_at(at).seen;
  if (!probe.is_same_lse_ln(probe.other_lse_ln.value_or(lse_ln)))
    return of_another_lse_ln(probe, lse_ln);
  if (probe.lse_ln_seen == kInfinity && std::isfinite(probe.lse_ln_expected)) {
    return {.step = Step::kMax,
            .why =
                "the lse is infinite, so the sum of exponentials overflows: relative to the row's "
                "own maximum, none exceeds 1"};
  }
  if (!probe.wrong_keys().empty() || std::isnan(probe.lse_ln_seen))
    return diagnose_wrong_weights(probe);
  return of_right_weights(probe, of, at);
}

std::optional<Diagnosis> diagnose_no_number(const ComparedValues& values) {
  if (!std::isnan(values.expected)) return std::nullopt;
  const char* const found = std::isnan(values.seen)
                                ? "found NaN, and expected NaN: "
                                : "found a number, expected NaN as in the oracle: ";
  return Diagnosis{.why = std::string(found) +
                          "the row's inputs hold NaN, or infinities that combine to NaN: outside "
                          "the domain, not judged"};
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

Diagnosis diagnose_results(const FailedCase& of, const HeadRow& at) {
  if (!of.has_lse_ln())
    return {.why = "outputs are wrong; results with lse_ln would show whether the scores are"};
  const ComparedValues lse_ln = of.lse_ln_at(at);
  if (is_right(lse_ln)) {
    return {.step = Step::kWeights,
            .why =
                "lse_ln is right, so the scores and their sum are, too: the weights, or V's "
                "values, addresses or scale"};
  }
  const bool has_none = lse_ln.seen == -kInfinity;
  return {
      .step = Step::kScores,
      .why = fmt::format("lse_ln is {:.9g} in place of {:.9g}{}", lse_ln.seen, lse_ln.expected,
                         has_none ? std::string(", as for a row without keys: ") + kNoWeightCauses
                                  : ": the scores, the set of visible keys, or the sum"),
      .names_max = has_none};
}

Diagnosis diagnose_empty_row(const FailedCase& of, const HeadRow& at, const Keys& attended) {
  std::string why = fmt::format(
      "the row has no key to attend to: {}. By definition out is zeros, and lse_ln is {}; {}",
      of.sequence_of(at).context_length == 0
          ? "its context is empty"
          : "its position is before the first key of its context",
      of.inputs.options.sinks.empty()
          ? "-inf"
          : fmt::format("the head's sink, {:.6g}",
                        of.right.exact.lse_ln_at(of.row_of(at), at.head)),
      found_text(of, at));
  if (const StaleRow stale = of.stale_at(at); stale.is_stale()) {
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
  return {.step = of.count_wrong_out(at) == 0 ? Step::kSum : Step::kOutput, .why = why};
}

bool weights_give_output(const WeightProbe& probe, const FailedCase& of, const HeadRow& at) {
  if (!(probe.seen.sum() > 0.0)) return false;
  const reference::Matrix v = values_of(of, at);
  const reference::Vector out = row_output(of.seen, of.row_of(at), at.head).out;
  const reference::Vector error = (v.transpose() * probe.seen - out).cwiseAbs();
  const reference::Vector magnitude = v.cwiseAbs().transpose() * probe.seen.cwiseAbs();
  // Two roundings to bf16, with a generous margin.
  constexpr double kRelative = 0.02;
  return (error.array() <= kRelative * magnitude.array()).all();
}

}  // namespace recto::verify
