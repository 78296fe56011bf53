#pragma once

// Measures from outside what weight each key gets in a row's output: the case is run again with V
// made of ones and zeros, for as many keys at a time as there are dims, so that outputs are
// weights.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/status.h"
#include "verify/explain/failed_case.h"

namespace recto::verify {

using Keys = std::vector<std::int64_t>;

// Of an error: what another one may be off by that is taken for the same.
inline constexpr double kSmallPart = 0.25;
// Of keys whose weights are known to a quarter of them.
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
  // Of the run that differs from the first one by more than roundings, if one does.
  std::optional<double> other_lse_ln = {};
  bool has_sink = false;  // a share of the sum
  // No key has weight, and with q of zeros, whose scores are 0 but for ALiBi, all have theirs.
  bool is_weighed_at_zero_q = false;

  double lse_ln_error() const { return lse_ln_seen - lse_ln_expected; }
  bool lse_ln_is_right() const;
  // Whether another run gives the same, right or wrong, but for roundings.
  bool is_same_lse_ln(double other) const;
  bool is_right(std::int64_t key) const;
  // Whether the key's weight is large enough beside its bound to tell a score by.
  bool tells(std::int64_t key) const;
  // How far the key's score is above what it should be, assuming that its weight was divided by
  // what the lse says; nothing where the weights cannot tell. And what that may be off by.
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
  // That should have weight and have none, and the reverse.
  Keys missing_keys() const;
  Keys extra_keys() const;
};

// "key 3", "keys 3, 4"; of many the first ones, and the number of the others.
std::string list_text(const Keys& keys);
// "1 other", "3 others".
std::string others_text(std::size_t others);

// A run shows head_dim_v keys.
struct ProbeLimits {
  std::int64_t runs = 8192;
  double seconds = 60.0;
};

// Failed, with the reason, if the backend does not support the changed case, throws, would have to
// run more often, or takes longer.
Result<WeightProbe> probe_weights(const Backend& backend, const LawCase& law_case,
                                  const HeadRow& at, BoundKind bound_kind,
                                  const ProbeLimits& limits = {});

}  // namespace recto::verify
