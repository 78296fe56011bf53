#include "verify/explanation/sum_diagnosis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>

#include "verify/explanation/weight_facts.h"

namespace recto::verify {
namespace {

// Whether the weights add up to what they do when they are divided by a sum that is `factor` times
// what it should be.
bool is_divided_by(const RowProbe& probe, double factor) {
  const double expected = total(probe.expected);
  const double change = expected / factor - expected;
  return std::abs(total(probe.seen) - expected - change) <= kSmallPart * std::abs(change);
}

// Lse and weights are wrong, and no score by as much as a weight can tell.
Diagnosis of_small_errors(const RowProbe& probe) {
  std::optional<std::int64_t> most;
  for (const std::int64_t key :
       keys_where(probe, [&](std::int64_t k) { return tells(probe, k); })) {
    const double error = std::abs(*implied_score_error(probe, key));
    if (!most || error > std::abs(*implied_score_error(probe, *most))) most = key;
  }
  std::string why = fmt::format(
      "the lse is off by {:.6g}, and the weights add up to {:.6g} in place of {:.6g}, as of no "
      "other divisor alone: scores, or partial sums; too small to tell the step",
      probe.lse_ln_seen - probe.lse_ln_expected, total(probe.seen), total(probe.expected));
  if (most) {
    why += fmt::format("; if it is scores, most that of key {}, by {:+.6g}", *most,
                       *implied_score_error(probe, *most));
  }
  return {.why = why};
}

// Whether a part of a sum that is `factor` times what it should be may be one that was not
// rescaled: beside the maximum of its own part no key, and no sink, is more than 1.
bool may_be_unscaled(const RowProbe& probe, double factor) {
  const double sink = probe.has_sink ? std::max(0.0, 1.0 - total(probe.expected)) : 0.0;
  const double largest = std::max(sink, *std::ranges::max_element(probe.expected));
  const auto shares = static_cast<double>(seen_keys(probe).size() + (probe.has_sink ? 1 : 0));
  return shares > 1.0 && factor <= shares * largest;
}

}  // namespace

std::string sum_causes(const RowProbe& probe, double factor) {
  constexpr double kFewBits = 0.01;
  const char* const rounded =
      std::abs(factor - 1.0) <= kFewBits ? ", or it is rounded to few bits" : "";
  if (factor < 1.0) {
    return fmt::format("keys that V is weighed with are missing from it{}{}",
                       probe.has_sink ? ", or the sink's share is" : "", rounded);
  }
  return fmt::format(
      "{}keys are counted in it more than once, or something joins it that is no key "
      "of the row, such as masked keys{}{}",
      may_be_unscaled(probe, factor)
          ? "a part of it is not rescaled, where the maximum grows or parts are merged, "
          : "",
      probe.has_sink ? ", or the sink's share is another" : "", rounded);
}

const char* size_text(double factor) { return factor < 1.0 ? "too small" : "too large"; }

Diagnosis of_another_sum(const RowProbe& probe) {
  if (!std::isfinite(probe.lse_ln_seen)) {
    return {.step = Step::kSum,
            .why = fmt::format("the lse is {}, as of a row without keys, and yet keys get {:.6g} "
                               "of the weight in place of {:.6g}",
                               probe.lse_ln_seen, total(probe.seen), total(probe.expected))};
  }
  const bool is_single = seen_keys(probe).size() == 1;
  const double factor = std::exp(probe.lse_ln_seen - probe.lse_ln_expected);
  if (!is_divided_by(probe, factor)) return of_small_errors(probe);
  return {.step = Step::kSum,
          .why = fmt::format(
              "{} {:.6g} of the weight in place of {:.6g}, since the sum is {}, {:.6g} times what "
              "it should be: {}",
              is_single ? "the score of the only key is right; it gets"
                        : "the scores of all keys are right against each other; they get",
              total(probe.seen), total(probe.expected), size_text(factor), factor,
              sum_causes(probe, factor))};
}

}  // namespace recto::verify
