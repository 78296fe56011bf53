#include "verify/explanation/diagnosis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "verify/explanation/score_diagnosis.h"
#include "verify/explanation/sum_diagnosis.h"
#include "verify/explanation/weight_facts.h"

namespace recto::verify {
namespace {

std::size_t at(std::int64_t key) { return static_cast<std::size_t>(key); }

bool has_whole_weight(const RowProbe& probe, std::int64_t key) {
  return probe.expected[at(key)] >= 1.0 - probe.bound[at(key)];
}

// Whether the weights as they were seen, each within its bound, give most of what the output is off
// by.
bool weights_give_error(const RowProbe& probe, const FailedRow& row) {
  const Eigen::Map<const Eigen::RowVectorXd> weights(probe.seen.data(), std::ssize(probe.seen));
  for (std::size_t dim = 0; dim < row.out.size(); ++dim) {
    const double error = std::abs(row.out[dim] - row.out_expected[dim]);
    if (error <= row.out_bound[dim]) continue;
    const double given = weights * row.v.col(static_cast<std::int64_t>(dim));
    if (!(std::abs(given - row.out[dim]) <= kSmallPart * error)) return false;
  }
  return true;
}

bool is_out_wrong(const FailedRow& row) {
  for (std::size_t dim = 0; dim < row.out.size(); ++dim)
    if (!(std::abs(row.out[dim] - row.out_expected[dim]) <= row.out_bound[dim])) return true;
  return false;
}

// The weights are right, and so is the lse.
std::optional<Diagnosis> of_infinite_output(const FailedRow& row) {
  std::size_t count = 0;
  std::size_t first = 0;
  bool has_nan = false;
  for (std::size_t dim = row.out.size(); dim-- > 0;) {
    if (std::isfinite(row.out[dim]) || !std::isfinite(row.out_expected[dim])) continue;
    ++count;
    first = dim;
    has_nan = has_nan || std::isnan(row.out[dim]);
  }
  if (count == 0 || has_nan) return std::nullopt;
  return Diagnosis{.step = Step::kOutput,
                   .why = fmt::format(
                       "with V of ones and zeros weights and lse are right; with the case's own V "
                       "the output is infinite in {} of {} dims, in dim {} {} in place of {:.6g}: "
                       "products with V, or their sum, overflow before they are divided or "
                       "scaled, perhaps with weights beside too low a maximum, or what V holds "
                       "elsewhere joins them",
                       count, row.out.size(), first, row.out[first], row.out_expected[first]),
                   .names_max = true};
}

// The weights are right.
Diagnosis of_right_weights(const RowProbe& probe, const FailedRow& row) {
  if (lse_ln_is_right(probe)) {
    if (const auto diagnosis = of_infinite_output(row)) return *diagnosis;
  }
  if (is_out_wrong(row) && weights_give_error(probe, row)) {
    return {.why =
                "each weight is off by less than its bound, and together they give the output "
                "that is seen: too small to tell the step"};
  }
  if (lse_ln_is_right(probe) && !is_out_wrong(row)) {
    return {.why =
                "the lse is just beyond its bound with the case's own V, and just within it with V "
                "of ones and zeros: too small to tell the step"};
  }
  if (lse_ln_is_right(probe)) {
    return {.step = Step::kOutput,
            .why =
                "with V of ones and zeros weights and lse are right; with the case's own V the "
                "output is not: its values, their addresses or scale, the sum of products, or "
                "a NaN that is weighed with 0"};
  }
  const double error = probe.lse_ln_seen - probe.lse_ln_expected;
  const Keys visible = seen_keys(probe);
  // Beside a sink that counts its weight is less than 1, and depends on its score.
  if (visible.size() == 1 && has_whole_weight(probe, visible.front())) {
    return {.step = Step::kScores,
            .why = fmt::format("one key is visible, whose weight is 1 whatever its score; the lse "
                               "is off by {:.6g}: its score, or the sum's logarithm",
                               error),
            .key = visible.front()};
  }
  // Scores that are off by so much would show in no weight.
  if (std::abs(error) <= 2.0 * total(probe.bound)) {
    return {.why = fmt::format("all weights are within their bounds, and the lse is off by {:.6g}: "
                               "too small to tell the step",
                               error)};
  }
  return {.step = Step::kSum,
          .why = fmt::format("all weights are right, and so is the sum that they were divided by; "
                             "the lse is off by {:.6g} ({:.6g} times what it should be): its "
                             "logarithm, or one shift of all scores",
                             error, probe.lse_ln_seen / probe.lse_ln_expected)};
}

// As those are that were rounded to few bits.
bool are_nearly_right(const RowProbe& probe, const Keys& wrong) {
  constexpr double kFewBits = 0.01;
  return std::ranges::all_of(wrong, [&](std::int64_t key) {
    return std::abs(probe.seen[at(key)] - probe.expected[at(key)]) <=
           kFewBits * probe.expected[at(key)];
  });
}

// The lse is right: so are the scores that it was summed of.
Diagnosis of_right_lse_ln(const RowProbe& probe, const Keys& wrong) {
  if (const std::optional<double> factor = common_factor(probe)) {
    return {.step = Step::kWeights,
            .why = fmt::format("the lse is right, and all weights are {:.6g} times what they "
                               "should be: they are divided by a sum that is {} ({}), or it is V's "
                               "scale",
                               *factor, size_text(1.0 / *factor), sum_causes(probe, 1.0 / *factor)),
            .key = wrong.front()};
  }
  if (const auto diagnosis = of_running_maximum(probe, wrong)) return *diagnosis;
  if (are_permuted(probe)) {
    return {.step = Step::kOutput,
            .why = fmt::format("the lse is right, and so are the weights, but V of other keys gets "
                               "them, {}: V's addresses",
                               list_text(wrong)),
            .key = wrong.front()};
  }
  const std::string start = "the lse is right, and so are the scores that it is made of; of " +
                            list_text(wrong) + " weights are not, and add up to ";
  const double lost = total(probe.seen) - total(probe.expected);
  const bool is_whole = std::abs(lost) <= total(probe.bound);
  if (is_whole && !missing_keys(probe).empty()) {
    return {.step = Step::kOutput,
            .why = start + "what they should: V of other keys gets those of " +
                   list_text(missing_keys(probe)) + ", V's addresses",
            .key = wrong.front()};
  }
  if (is_whole || are_nearly_right(probe, wrong)) {
    return {.step = Step::kWeights,
            .why = start +
                   (is_whole ? "what they should: the exponentials, the rescaling of partial sums, "
                               "or V's addresses"
                             : fmt::format("{:.6g} in place of {:.6g}, each off by less than 1 %: "
                                           "weights that are rounded before they are multiplied "
                                           "with V, or V's scale",
                                           total(probe.seen), total(probe.expected))),
            .key = wrong.front()};
  }
  const bool is_single = seen_keys(probe).size() == 1;
  return {.step = Step::kOutput,
          .why = start + fmt::format("{:.6g} in place of {:.6g}: V's addresses or scale{}",
                                     total(probe.seen), total(probe.expected),
                                     is_single ? fmt::format(", or a divisor that is {}",
                                                             lost > 0.0 ? "too small" : "too large")
                                               : ""),
          .key = wrong.front()};
}

// No key has weight, as is seen; the step is the first that may depart, unless the maximum does.
Diagnosis of_no_weight(const RowProbe& probe, Step step, const std::string& seen,
                       std::optional<std::int64_t> key = {}) {
  if (!probe.is_weighed_at_zero_q)
    return {.step = step, .why = seen + ": " + kNoWeightCauses, .key = key, .names_max = true};
  return {.step = Step::kMax,
          .why = seen +
                 "; with q of zeros they get it, so that they are visited, and not masked: every "
                 "exponential is 0, beside a maximum that begins or stays too high, or of scores "
                 "that overflow",
          .key = key};
}

// Lse and weights are wrong.
Diagnosis of_wrong_lse_ln(const RowProbe& probe) {
  const Keys departing = keys_where(probe, [&](std::int64_t key) {
    const std::optional<double> error = implied_score_error(probe, key);
    return error && std::abs(*error) > score_tolerance(probe, key);
  });
  if (!departing.empty()) return of_scores(probe, departing);
  const Keys missing = missing_keys(probe);
  if (!missing.empty()) {
    const std::string start = list_text(missing) + " should be seen and get no weight";
    if (total(probe.seen) <= 0.0)
      return of_no_weight(probe, Step::kScores, start + ", nor does any other", missing.front());
    return {
        .step = Step::kScores,
        .why = start + "; the scores of the others are right: which keys are visited, or the mask",
        .key = missing.front()};
  }
  const Keys extra = extra_keys(probe);
  if (!extra.empty()) {
    return {.step = Step::kScores,
            .why = list_text(extra) +
                   " should be masked and get weight; the scores of the others "
                   "are right: the mask",
            .key = extra.front()};
  }
  return of_another_sum(probe);
}

// Some weights, or the lse, are no numbers.
Diagnosis of_no_numbers(const RowProbe& probe) {
  if (lse_ln_is_right(probe)) {
    return {
        .step = Step::kOutput,
        .why =
            "the lse is right and outputs are no numbers: what V holds where nobody may look is "
            "weighed with 0"};
  }
  if (std::isinf(probe.lse_ln_seen)) {
    return of_no_weight(
        probe, Step::kSum,
        "the lse is -inf and weights are no numbers: their sum is 0, and divided by");
  }
  const std::string cause = "a slot was read that is no key of the row, or a score is none";
  if (std::isnan(probe.lse_ln_seen))
    return {.why = "the lse is no number, and spreads to every weight: " + cause};
  return {.why = fmt::format("weights are no numbers, and the lse is off by {:.6g}: {}",
                             probe.lse_ln_seen - probe.lse_ln_expected, cause)};
}

// No V is in the lse, which yet differs between runs.
Diagnosis of_another_lse_ln(const RowProbe& probe, const FailedRow& row) {
  const std::string runs =
      probe.other_lse_ln
          ? fmt::format("{:.9g} in one run with V of ones and zeros and {:.9g} in another",
                        probe.lse_ln_seen, *probe.other_lse_ln)
          : fmt::format("{:.9g} with the case's own V and {:.9g} with V of ones and zeros",
                        row.lse_ln, probe.lse_ln_seen);
  return {.why =
              "the lse is " + runs +
              ", though no V is in it: the fault is another one each time, or depends on V or on "
              "the calls before; what the weights show is not what the case does"};
}

}  // namespace

std::optional<double> implied_score_error(const RowProbe& probe, std::int64_t key) {
  if (!tells(probe, key)) return std::nullopt;
  const double lse_ln_error = probe.lse_ln_seen - probe.lse_ln_expected;
  if (!std::isfinite(lse_ln_error)) return std::nullopt;
  return std::log(probe.seen[at(key)] / probe.expected[at(key)]) + lse_ln_error;
}

bool shows_fault(const RowProbe& probe) {
  const Keys wrong =
      keys_where(probe, [&](std::int64_t key) { return !weight_is_right(probe, key); });
  return !wrong.empty() || !lse_ln_is_right(probe);
}

Diagnosis diagnose(const RowProbe& probe, const FailedRow& row) {
  const double other = probe.other_lse_ln.value_or(row.lse_ln);
  if (!is_same_lse_ln(other, probe.lse_ln_seen, probe.lse_ln_bound))
    return of_another_lse_ln(probe, row);
  const Keys no_numbers =
      keys_where(probe, [&](std::int64_t key) { return !std::isfinite(probe.seen[at(key)]); });
  const bool is_infinite = std::isinf(probe.lse_ln_seen) && probe.lse_ln_seen > 0.0;
  if (is_infinite && std::isfinite(probe.lse_ln_expected)) {
    return {.step = Step::kMax,
            .why =
                "the lse is infinite, so the sum of exponentials overflows: beside the row's own "
                "maximum none is larger than 1"};
  }
  if (!no_numbers.empty() || std::isnan(probe.lse_ln_seen)) return of_no_numbers(probe);
  const Keys wrong =
      keys_where(probe, [&](std::int64_t key) { return !weight_is_right(probe, key); });
  if (wrong.empty()) return of_right_weights(probe, row);
  return lse_ln_is_right(probe) ? of_right_lse_ln(probe, wrong) : of_wrong_lse_ln(probe);
}

}  // namespace recto::verify
