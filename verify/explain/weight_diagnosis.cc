// What the wrong weights of a row's keys imply.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "verify/explain/diagnosis.h"

namespace recto::verify {
namespace {

constexpr double kFewBits = 0.01;

// The factor common to all telling weights, if there are at least two and they share one.
std::optional<double> common_factor(const WeightProbe& probe) {
  const Keys telling = probe.telling_keys();
  if (telling.size() < 2) return std::nullopt;
  const auto factor = [&](std::int64_t key) { return probe.seen[key] / probe.expected[key]; };
  const double first = factor(telling.front());
  const bool is_common = std::ranges::all_of(telling, [&](std::int64_t key) {
    return std::abs(factor(key) / first - 1.0) <= probe.score_tolerance(key);
  });
  return is_common ? std::optional(first) : std::nullopt;
}

// Whether each key's weight is relative to a running maximum: that of the keys up to itself or a
// later key, as when the key's tile was read. O(n log n) in the number of keys.
bool are_beside_running_maximum(const WeightProbe& probe) {
  if (!probe.missing_keys().empty() || !probe.extra_keys().empty()) return false;
  const Keys telling = probe.telling_keys();
  std::vector<double> maxima;  // of the scores up to each key
  for (const std::int64_t key : telling) {
    const double score = std::log(probe.expected[key]) + probe.lse_ln_expected;
    maxima.push_back(maxima.empty() ? score : std::max(maxima.back(), score));
  }
  for (std::size_t i = 0; i < telling.size(); ++i) {
    const std::optional<double> error = probe.score_error(telling[i]);
    if (!error) return false;
    const double tolerance = 2.0 * probe.score_tolerance(telling[i]);
    const double maximum = maxima.back() - *error;
    const auto from = maxima.begin() + static_cast<std::ptrdiff_t>(i);
    const auto found = std::lower_bound(from, maxima.end(), maximum - tolerance);
    if (found == maxima.end() || *found > maximum + tolerance) return false;
  }
  return !telling.empty();
}

// Whether these are the expected weights, each within the bound, at other keys.
bool are_permuted(const WeightProbe& probe) {
  reference::Vector seen = probe.seen;
  reference::Vector expected = probe.expected;
  std::ranges::sort(seen);
  std::ranges::sort(expected);
  return ((seen - expected).array().abs() <= probe.bound.maxCoeff()).all();
}

// Causes of a sum that is `factor` times too large while the products with V are right.
std::string sum_causes(const WeightProbe& probe, double factor) {
  const char* const rounded =
      std::abs(factor - 1.0) <= kFewBits ? ", or it is rounded to few bits" : "";
  if (factor < 1.0) {
    return fmt::format("keys that weigh V are missing from it{}{}",
                       probe.has_sink ? ", or the sink's share is" : "", rounded);
  }
  // Relative to its own part's maximum, no key or sink weighs more than 1.
  const double sink = probe.has_sink ? std::max(0.0, 1.0 - probe.expected.sum()) : 0.0;
  const double largest = std::max(sink, probe.expected.maxCoeff());
  const auto shares = static_cast<double>(probe.visible_keys().size() + (probe.has_sink ? 1 : 0));
  const bool may_be_unscaled = shares > 1.0 && factor <= shares * largest;
  return fmt::format(
      "{}keys are counted in it more than once, or it includes keys that the row does not see, "
      "such as masked keys{}{}",
      may_be_unscaled
          ? "a part of it is not rescaled, where the maximum grows or parts are merged, "
          : "",
      probe.has_sink ? ", or the sink's share is wrong" : "", rounded);
}

const char* size_text(double factor) { return factor < 1.0 ? "too small" : "too large"; }

// `keys` depart at `step`.
Diagnosis told(Step step, const Keys& keys, const std::string& why) {
  return {.step = step, .why = why, .key = keys.front()};
}

Diagnosis of_running_maximum(const Keys& keys) {
  return told(Step::kMax, keys,
              "the weights of " + list_text(keys) +
                  " are relative to the maximum at the time they were read: earlier sums are not "
                  "rescaled as the maximum grows");
}

// No key has weight, as `seen` says. `step` is the first that may depart, unless the maximum does.
Diagnosis of_no_weight(const WeightProbe& probe, Step step, const std::string& seen) {
  if (!probe.is_weighed_at_zero_q)
    return {.step = step, .why = seen + ": " + kNoWeightCauses, .names_max = true};
  return {.step = Step::kMax,
          .why = seen +
                 "; with q of zeros they get weight, so they are visited and not masked: every "
                 "exponential is 0, because of a maximum that starts or stays too high, or scores "
                 "overflow"};
}

// Some weights, or the lse, are NaN.
Diagnosis of_no_numbers(const WeightProbe& probe) {
  if (probe.lse_ln_is_right()) {
    return {.step = Step::kOutput,
            .why =
                "the lse is right and outputs are NaN: V outside the row's keys is multiplied by "
                "weight 0"};
  }
  if (std::isinf(probe.lse_ln_seen)) {
    return of_no_weight(
        probe, Step::kSum,
        "the lse is -inf and weights are NaN: they are divided by their sum, which is 0");
  }
  const std::string cause = "a slot was read that is not a key of the row, or a score is NaN";
  if (std::isnan(probe.lse_ln_seen))
    return {.why = "the lse is NaN, and makes every weight NaN: " + cause};
  return {.why = fmt::format("weights are NaN, and the lse is off by {:.6g}: {}",
                             probe.lse_ln_error(), cause)};
}

// The lse is right, so the scores in its sum are right too.
Diagnosis of_right_lse_ln(const WeightProbe& probe, const Keys& wrong) {
  if (const std::optional<double> factor = common_factor(probe)) {
    return told(Step::kWeights, wrong,
                fmt::format("the lse is right, and all weights are {:.6g} times what they should "
                            "be: they are divided by a sum that is {} ({}), or V's scale is wrong",
                            *factor, size_text(1.0 / *factor), sum_causes(probe, 1.0 / *factor)));
  }
  if (are_beside_running_maximum(probe)) return of_running_maximum(wrong);
  if (are_permuted(probe)) {
    return told(Step::kOutput, wrong,
                "the lse and the weights are right, but are applied to V of other keys, " +
                    list_text(wrong) + ": V's addresses");
  }
  const double seen = probe.seen.sum();
  const double expected = probe.expected.sum();
  const std::string start = "the lse is right, and so are its scores; the weights of " +
                            list_text(wrong) + " are wrong, and add up to ";
  if (std::abs(seen - expected) <= probe.bound.sum()) {
    const Keys missing = probe.missing_keys();
    if (missing.empty()) {
      return told(Step::kWeights, wrong,
                  start +
                      "what they should: the exponentials, the rescaling of partial sums, or V's "
                      "addresses");
    }
    return told(Step::kOutput, wrong,
                start + "what they should: V of other keys gets the weights of " +
                    list_text(missing) + ", V's addresses");
  }
  const std::string total = fmt::format("{:.6g} in place of {:.6g}", seen, expected);
  const bool are_nearly_right = std::ranges::all_of(wrong, [&](std::int64_t key) {
    return std::abs(probe.seen[key] - probe.expected[key]) <= kFewBits * probe.expected[key];
  });
  if (are_nearly_right) {
    return told(Step::kWeights, wrong,
                start + total +
                    ", each off by less than 1 %: weights that are rounded before they are "
                    "multiplied with V, or V's scale");
  }
  const char* const divisor = probe.visible_keys().size() > 1 ? ""
                              : seen > expected               ? ", or a divisor that is too small"
                                                              : ", or a divisor that is too large";
  return told(Step::kOutput, wrong, start + total + ": V's addresses or scale" + divisor);
}

// Scores of `departing` (some keys) are off.
Diagnosis of_scores(const WeightProbe& probe, const Keys& departing) {
  if (are_beside_running_maximum(probe)) return of_running_maximum(departing);
  const Keys others = probe.keys_where([&](std::int64_t key) {
    return probe.tells(key) && !std::ranges::binary_search(departing, key);
  });
  const std::string keys = list_text(departing);
  const double error = *probe.score_error(departing.front());
  // Whether all of them have this error, within the tolerance `part` of it or of the weights.
  const auto is_common = [&](double part) {
    return std::ranges::all_of(departing, [&](std::int64_t key) {
      const double tolerance = std::min(2.0 * probe.score_tolerance(key), part * std::abs(error));
      return std::abs(*probe.score_error(key) - error) <= tolerance;
    });
  };
  if (departing.size() < 2 || others.empty() || !is_common(1.0)) {
    const std::string right =
        others.empty() ? "" : "; those of the " + others_text(others.size()) + " are right";
    const char* const exponentials = departing.size() == 1
                                         ? "its exponential, or how often it is"
                                         : "their exponentials, or how often they are";
    return told(Step::kScores, departing,
                fmt::format("the scores of {} are off, the first by {:+.6g}{}; {} counted, would "
                            "look the same",
                            keys, error, right, exponentials));
  }
  const bool are_others_right = std::ranges::all_of(others, [&](std::int64_t key) {
    return std::abs(*probe.score_error(key)) <= kSmallPart * std::abs(error);
  });
  if (!are_others_right || !is_common(kSmallPart)) {
    return told(Step::kUnknown, departing,
                fmt::format("the scores that the weights of {} imply are off, the first by "
                            "{:+.6g}, or partial sums are: too small to identify the step",
                            keys, error));
  }
  return told(Step::kSum, departing,
              fmt::format("{} weigh {:.6g} times what they should relative to the {}: partial sums "
                          "that are {}",
                          keys, std::exp(error), others_text(others.size()),
                          error > 0.0 ? "not rescaled, or keys that are counted more than once"
                                      : "rescaled too often, or lost in part"));
}

// No score is measurably wrong, and no key is missing or extra.
Diagnosis of_another_sum(const WeightProbe& probe) {
  const double seen = probe.seen.sum();
  const double expected = probe.expected.sum();
  const std::string total = fmt::format("{:.6g} of the weight in place of {:.6g}", seen, expected);
  if (!std::isfinite(probe.lse_ln_seen)) {
    return {.step = Step::kSum,
            .why = fmt::format("the lse is {}, as for a row without keys, but keys get {}",
                               probe.lse_ln_seen, total)};
  }
  // Whether the change of the total weight is that of dividing by the wrong sum.
  const double factor = std::exp(probe.lse_ln_error());
  const double change = expected / factor - expected;
  if (std::abs(seen - expected - change) <= kSmallPart * std::abs(change)) {
    return {.step = Step::kSum,
            .why = fmt::format(
                "{} {}, since the sum is {}, {:.6g} times what it should be: {}",
                probe.visible_keys().size() == 1
                    ? "the score of the only key is right; it gets"
                    : "the scores of all keys are right relative to each other; they get",
                total, size_text(factor), factor, sum_causes(probe, factor))};
  }
  const std::string why = fmt::format(
      "the lse is off by {:.6g}, and the weights add up to {:.6g} in place of {:.6g}, which no "
      "other divisor alone explains: scores, or partial sums; too small to identify the step",
      probe.lse_ln_error(), seen, expected);
  const Keys telling = probe.telling_keys();
  if (telling.empty()) return {.why = why};
  const std::int64_t most = std::ranges::max(
      telling, {}, [&](std::int64_t key) { return std::abs(*probe.score_error(key)); });
  return {.why = why + fmt::format("; if scores are off, that of key {} most, by {:+.6g}", most,
                                   *probe.score_error(most))};
}

// Both lse and weights are wrong.
Diagnosis of_wrong_lse_ln(const WeightProbe& probe) {
  const Keys departing = probe.keys_where([&](std::int64_t key) {
    const std::optional<double> error = probe.score_error(key);
    return error && std::abs(*error) > probe.score_tolerance(key);
  });
  if (!departing.empty()) return of_scores(probe, departing);
  if (const Keys missing = probe.missing_keys(); !missing.empty()) {
    const std::string start = list_text(missing) + " should be visible and get no weight";
    if (probe.seen.sum() > 0.0) {
      return told(Step::kScores, missing,
                  start +
                      "; the scores of the others are right: which keys are visited, or the "
                      "mask");
    }
    Diagnosis none = of_no_weight(probe, Step::kScores, start + ", nor does any other");
    none.key = missing.front();
    return none;
  }
  if (const Keys extra = probe.extra_keys(); !extra.empty()) {
    return told(Step::kScores, extra,
                list_text(extra) +
                    " should be masked and get weight; the scores of the others are right: the "
                    "mask");
  }
  return of_another_sum(probe);
}

}  // namespace

Diagnosis diagnose_wrong_weights(const WeightProbe& probe) {
  if (!probe.seen.allFinite() || std::isnan(probe.lse_ln_seen)) return of_no_numbers(probe);
  return probe.lse_ln_is_right() ? of_right_lse_ln(probe, probe.wrong_keys())
                                 : of_wrong_lse_ln(probe);
}

}  // namespace recto::verify
