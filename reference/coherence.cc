#include "reference/coherence.h"

#include <absl/container/flat_hash_map.h>

#include <algorithm>
#include <bit>
#include <cmath>

namespace recto::reference {

std::int64_t multiplicity(std::span<const double> values) {
  absl::flat_hash_map<std::uint64_t, std::int64_t> counts;
  counts.reserve(values.size());
  std::int64_t most = 0;
  for (const double value : values) {
    most = std::max(most, ++counts[std::bit_cast<std::uint64_t>(std::abs(value))]);
  }
  return most;
}

double rounding_drift(std::span<const double> terms, double unit_roundoff) {
  double sum = 0;
  double largest = 0;
  for (const double term : terms) {
    sum += term;
    largest = std::max(largest, std::abs(sum));
  }
  if (largest == 0 || !std::isfinite(largest)) return 0;
  int exponent = 0;
  std::frexp(largest, &exponent);
  double most = 0;
  for (int binade = 0; binade < 4; ++binade) {
    const double ulp = std::ldexp(unit_roundoff, exponent - binade);
    const double per_ulp = 1 / ulp;
    double drift = 0;
    for (const double term : terms) drift += std::nearbyint(term * per_ulp) - term * per_ulp;
    most = std::max(most, std::abs(drift) * ulp);
  }
  return most;
}

}  // namespace recto::reference
