#pragma once

// Which keys of a probed row have which weights: missing, extra, by one factor, exchanged.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "verify/explanation/row_probe.h"

namespace recto::verify {

using Keys = std::vector<std::int64_t>;

// Of an error: what another one may be off by that is taken for the same.
inline constexpr double kSmallPart = 0.25;
// Of keys whose weights are known to a quarter of them.
inline constexpr double kTellingBounds = 4.0;

template <typename Predicate>
Keys keys_where(const RowProbe& probe, const Predicate& predicate) {
  Keys keys;
  for (std::int64_t key = 0; key < std::ssize(probe.seen); ++key)
    if (predicate(key)) keys.push_back(key);
  return keys;
}

// "key 3", "keys 3, 4"; of many the first ones, and the number of the others.
std::string list_text(const Keys& keys);
// "1 other", "3 others".
std::string others_text(std::size_t others);
double total(const std::vector<double>& values);

bool lse_ln_is_right(const RowProbe& probe);
bool weight_is_right(const RowProbe& probe, std::int64_t key);
// Whether the key's weight is large enough beside its bound to tell a score by.
bool tells(const RowProbe& probe, std::int64_t key);
// What the score that a weight implies may be off by.
double score_tolerance(const RowProbe& probe, std::int64_t key);

// Those that should have weight.
Keys seen_keys(const RowProbe& probe);
// Those that should have weight and have none, and the reverse.
Keys missing_keys(const RowProbe& probe);
Keys extra_keys(const RowProbe& probe);
// One factor for all weights that tell, if there are two and it is one.
std::optional<double> common_factor(const RowProbe& probe);
// Whether these are the same weights, each within the bound, at other keys.
bool are_permuted(const RowProbe& probe);

}  // namespace recto::verify
