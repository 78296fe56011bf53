#pragma once

// Measures the weight of each key in a row's output from outside. Runs the case again with V of
// ones and zeros, for as many keys per run as there are dims, so that outputs are weights.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/status.h"
#include "verify/explain/failed_case.h"

namespace recto::verify {

using Keys = std::vector<std::int64_t>;

// Two errors count as the same if they differ by at most this part.
inline constexpr double kSmallPart = 0.25;
// A weight tells a key's score if it is at least this many times its bound.
inline constexpr double kTellingBounds = 4.0;

struct WeightProbe {
  std::int64_t runs = 0;
  // For each key of the sequence, with V's scale divided out: [context_length]
  reference::Vector seen = {};
  reference::Vector expected = {};  // exact; 0 where a key is not visible
  reference::Vector bound = {};
  double lse_ln_seen = 0.0;
  double lse_ln_expected = 0.0;
  double lse_ln_bound = 0.0;
  // The lse of a run that differs from the first run by more than rounding, if there is one.
  std::optional<double> other_lse_ln = {};
  bool has_sink = false;  // a share of the sum
  // No key has weight, but all keys do with q of zeros (whose scores are 0 except for ALiBi).
  bool is_weighed_at_zero_q = false;

  double lse_ln_error() const { return lse_ln_seen - lse_ln_expected; }
  bool lse_ln_is_right() const;
  // Whether another run has the same lse, right or wrong, up to rounding.
  bool is_same_lse_ln(double other) const;
  bool is_right(std::int64_t key) const;
  // Whether the key's weight is large enough relative to its bound to derive its score.
  bool tells(std::int64_t key) const;
  // The error of the key's score, assuming that its weight was divided by the sum that the lse
  // gives, and the tolerance of that error. Nothing if the weight does not tell.
  std::optional<double> score_error(std::int64_t key) const;
  double score_tolerance(std::int64_t key) const;

  template <typename Predicate>
  Keys keys_where(const Predicate& predicate) const {
    Keys keys;
    for (std::int64_t key = 0; key < seen.size(); ++key)
      if (predicate(key)) keys.push_back(key);
    return keys;
  }
  Keys wrong_keys() const {
    return keys_where([this](std::int64_t key) { return !is_right(key); });
  }
  Keys visible_keys() const {
    return keys_where([this](std::int64_t key) { return expected[key] > 0.0; });
  }
  Keys telling_keys() const {
    return keys_where([this](std::int64_t key) { return tells(key); });
  }
  // Keys that should have weight and have none, and the reverse.
  Keys missing_keys() const;
  Keys extra_keys() const;
};

// "key 3", "keys 3, 4"; of many keys, the first ones and the number of the others.
std::string list_text(const Keys& keys);
// "1 other", "3 others".
std::string others_text(std::size_t others);

// One run measures head_dim_v keys.
struct ProbeLimits {
  std::int64_t runs = 8192;
  double seconds = 60.0;
};

// Failed, with the reason, if the backend does not support the changed case, throws, or exceeds the
// limits.
Result<WeightProbe> probe_weights(const Backend& backend, const LawCase& law_case,
                                  const HeadRow& at, BoundKind bound_kind,
                                  const ProbeLimits& limits = {});

}  // namespace recto::verify
