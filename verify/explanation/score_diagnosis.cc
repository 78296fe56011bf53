#include "verify/explanation/score_diagnosis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace recto::verify {
namespace {

std::size_t at(std::int64_t key) { return static_cast<std::size_t>(key); }

// Each key's weight is that beside the maximum of the keys up to some key from it on: as it was
// when the key's tile was read. O(n log n) in the keys.
bool are_beside_running_maximum(const RowProbe& probe) {
  if (!missing_keys(probe).empty() || !extra_keys(probe).empty()) return false;
  const Keys telling = keys_where(probe, [&](std::int64_t key) { return tells(probe, key); });
  std::vector<double> maxima;  // of the scores up to each of them
  for (const std::int64_t key : telling) {
    const double score = std::log(probe.expected[at(key)]) + probe.lse_ln_expected;
    maxima.push_back(maxima.empty() ? score : std::max(maxima.back(), score));
  }
  for (std::size_t i = 0; i < telling.size(); ++i) {
    const std::optional<double> error = implied_score_error(probe, telling[i]);
    if (!error) return false;
    const double tolerance = 2.0 * score_tolerance(probe, telling[i]);
    const double maximum = maxima.back() - *error;
    const auto from = maxima.begin() + static_cast<std::ptrdiff_t>(i);
    const auto found = std::lower_bound(from, maxima.end(), maximum - tolerance);
    if (found == maxima.end() || *found > maximum + tolerance) return false;
  }
  return !telling.empty();
}

// Whether one error is that of all these keys, within a part of it that is at most `part`, or what
// weights can tell.
bool have_error(const RowProbe& probe, const Keys& keys, double error, double part) {
  return std::ranges::all_of(keys, [&](std::int64_t key) {
    const double tolerance = std::min(2.0 * score_tolerance(probe, key), part * std::abs(error));
    return std::abs(*implied_score_error(probe, key) - error) <= tolerance;
  });
}

Diagnosis of_common_error(const RowProbe& probe, const Keys& departing, const Keys& others) {
  const double error = *implied_score_error(probe, departing.front());
  const bool is_apart = std::ranges::all_of(others, [&](std::int64_t key) {
    return std::abs(*implied_score_error(probe, key)) <= kSmallPart * std::abs(error);
  });
  if (!is_apart || !have_error(probe, departing, error, kSmallPart)) {
    return {.why = fmt::format("the scores that the weights of {} imply are off, the first by "
                               "{:+.6g}, or partial sums are: too small to tell the step",
                               list_text(departing), error),
            .key = departing.front()};
  }
  return {.step = Step::kSum,
          .why = fmt::format("{} weigh {:.6g} times what they should beside the {}: partial "
                             "sums that are {}",
                             list_text(departing), std::exp(error), others_text(others.size()),
                             error > 0.0 ? "not rescaled, or keys that are counted more than once"
                                         : "rescaled too often, or lost in part"),
          .key = departing.front()};
}

}  // namespace

std::optional<Diagnosis> of_running_maximum(const RowProbe& probe, const Keys& keys) {
  if (!are_beside_running_maximum(probe)) return std::nullopt;
  return Diagnosis{
      .step = Step::kMax,
      .why = "the weights of " + list_text(keys) +
             " are those beside the maximum as it was when they were read: what was summed by "
             "then is not rescaled as the maximum grows",
      .key = keys.front()};
}

Diagnosis of_scores(const RowProbe& probe, const Keys& departing) {
  if (const auto diagnosis = of_running_maximum(probe, departing)) return *diagnosis;
  const Keys others = keys_where(probe, [&](std::int64_t key) {
    return tells(probe, key) && !std::ranges::binary_search(departing, key);
  });
  const double first = *implied_score_error(probe, departing.front());
  constexpr double kWhole = 1.0;
  if (departing.size() >= 2 && !others.empty() && have_error(probe, departing, first, kWhole))
    return of_common_error(probe, departing, others);
  const bool is_one = departing.size() == 1;
  return {.step = Step::kScores,
          .why = fmt::format(
              "the scores of {} depart, the first by {:+.6g}{}; {} exponential{}, or how often {} "
              "counted, would look the same",
              list_text(departing), first,
              others.empty() ? "" : "; those of the " + others_text(others.size()) + " are right",
              is_one ? "its" : "their", is_one ? "" : "s", is_one ? "it is" : "they are"),
          .key = departing.front()};
}

}  // namespace recto::verify
