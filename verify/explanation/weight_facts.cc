#include "verify/explanation/weight_facts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

namespace recto::verify {
namespace {

std::size_t at(std::int64_t key) { return static_cast<std::size_t>(key); }

}  // namespace

bool lse_ln_is_right(const RowProbe& probe) {
  return probe.lse_ln_seen == probe.lse_ln_expected ||
         std::abs(probe.lse_ln_seen - probe.lse_ln_expected) <= probe.lse_ln_bound;
}

bool weight_is_right(const RowProbe& probe, std::int64_t key) {
  return std::abs(probe.seen[at(key)] - probe.expected[at(key)]) <= probe.bound[at(key)];
}

std::string list_text(const Keys& keys) {
  constexpr std::size_t kShown = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(kShown, keys.size()); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : ", ", keys[i]);
  if (keys.size() > kShown) text += fmt::format(" and {} more", keys.size() - kShown);
  return (keys.size() == 1 ? "key " : "keys ") + text;
}

std::string others_text(std::size_t others) {
  return fmt::format("{} {}", others, others == 1 ? "other" : "others");
}

double total(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

double score_tolerance(const RowProbe& probe, std::int64_t key) {
  const double relative = probe.bound[at(key)] / probe.expected[at(key)];
  return 2.0 * (relative + probe.lse_ln_bound) + 1e-9;
}

bool tells(const RowProbe& probe, std::int64_t key) {
  return probe.expected[at(key)] > kTellingBounds * probe.bound[at(key)] &&
         probe.seen[at(key)] > 0.0;
}

std::optional<double> common_factor(const RowProbe& probe) {
  const Keys telling = keys_where(probe, [&](std::int64_t key) { return tells(probe, key); });
  if (telling.size() < 2) return std::nullopt;
  const auto factor = [&](std::int64_t key) {
    return probe.seen[at(key)] / probe.expected[at(key)];
  };
  const double first = factor(telling.front());
  const bool is_common = std::ranges::all_of(telling, [&](std::int64_t key) {
    return std::abs(factor(key) / first - 1.0) <= score_tolerance(probe, key);
  });
  return is_common ? std::optional(first) : std::nullopt;
}

bool are_permuted(const RowProbe& probe) {
  std::vector<double> seen = probe.seen;
  std::vector<double> expected = probe.expected;
  std::ranges::sort(seen);
  std::ranges::sort(expected);
  const double bound = *std::ranges::max_element(probe.bound);
  for (std::size_t i = 0; i < seen.size(); ++i)
    if (!(std::abs(seen[i] - expected[i]) <= bound)) return false;
  return true;
}

Keys seen_keys(const RowProbe& probe) {
  return keys_where(probe, [&](std::int64_t key) { return probe.expected[at(key)] > 0.0; });
}

Keys missing_keys(const RowProbe& probe) {
  return keys_where(probe, [&](std::int64_t key) {
    return probe.expected[at(key)] > kTellingBounds * probe.bound[at(key)] &&
           probe.seen[at(key)] <= 0.0;
  });
}

Keys extra_keys(const RowProbe& probe) {
  return keys_where(probe, [&](std::int64_t key) {
    return probe.expected[at(key)] == 0.0 && probe.seen[at(key)] > probe.bound[at(key)];
  });
}

}  // namespace recto::verify
