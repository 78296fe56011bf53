#include "sim/metrics/histogram.h"

#include <algorithm>
#include <numeric>

namespace recto::sim {

std::int64_t Histogram::middle_of(std::size_t bucket) {
  if (bucket < kExactBelow) return static_cast<std::int64_t>(bucket);
  const std::size_t beyond = bucket - kExactBelow;
  const int shift = static_cast<int>(beyond >> kPrecisionBits) + 1;
  const std::uint64_t mantissa =
      (beyond & ((std::size_t{1} << kPrecisionBits) - 1)) + (std::uint64_t{1} << kPrecisionBits);
  return static_cast<std::int64_t>((mantissa << shift) + (std::uint64_t{1} << (shift - 1)));
}

std::int64_t Histogram::total_weight() const {
  return std::accumulate(weights_.begin(), weights_.end(), std::int64_t{0});
}

std::int64_t Histogram::percentile(std::int64_t per_mille) const {
  RECTO_CHECK_GE(per_mille, 0);
  RECTO_CHECK_LE(per_mille, 1000);
  const std::int64_t total = total_weight();
  if (total == 0) return 0;
  // 128 bits: nanoseconds of weight times 1000 may pass 2^63.
  const auto rank =
      static_cast<std::int64_t>((static_cast<__int128>(total) * per_mille + 999) / 1000);
  std::int64_t seen = 0;
  for (std::size_t bucket = 0; bucket < weights_.size(); ++bucket) {
    seen += weights_[bucket];
    if (weights_[bucket] > 0 && seen >= rank) return middle_of(bucket);
  }
  RECTO_UNREACHABLE("the buckets hold the total weight");
}

void Histogram::merge(const Histogram& other) {
  weights_.resize(std::max(weights_.size(), other.weights_.size()));
  for (std::size_t bucket = 0; bucket < other.weights_.size(); ++bucket) {
    weights_[bucket] += other.weights_[bucket];
  }
}

}  // namespace recto::sim
