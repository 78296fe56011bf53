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

double rounding_drift(std::span<const double> terms, const Accumulation& sum) {
  double partial_sum = 0;
  double largest = 0;
  for (const double term : terms) {
    partial_sum += term;
    largest = std::max(largest, std::abs(partial_sum));
  }
  if (largest == 0 || !std::isfinite(largest)) return 0;
  const bool is_cut = sum.rounding == AccumulatorRounding::kTruncate;
  int exponent = 0;
  std::frexp(largest, &exponent);
  double most = 0;
  for (int binade = 0; binade < 4; ++binade) {
    const double ulp = std::ldexp(sum.unit_roundoff, exponent - binade);
    const double per_ulp = 1 / ulp;
    double drift = 0;
    for (const double term : terms) {
      const double ulps = term * per_ulp;
      drift += (is_cut ? std::trunc(ulps) : std::nearbyint(ulps)) - ulps;
    }
    most = std::max(most, std::abs(drift) * ulp);
  }
  return most;
}

}  // namespace recto::reference
