#pragma once

// A histogram whose memory does not grow with the number of values: exact below 256, then 128
// buckets per power of two. A percentile is the middle of its bucket, so at most 0.4 % off.

#include <bit>
#include <cstdint>
#include <vector>

#include "core/contract.h"

namespace recto::sim {

class Histogram {
 public:
  // Adds a non-negative value. The weight is a count, or the nanoseconds for which the value held.
  // O(1).
  void add(std::int64_t value, std::int64_t weight = 1) {
    RECTO_CHECK_GE(value, 0);
    const std::size_t bucket = bucket_of(static_cast<std::uint64_t>(value));
    if (bucket >= weights_.size()) weights_.resize(bucket + kBucketsPerPower);
    weights_[bucket] += weight;
  }

  // O(buckets), as are the functions below.
  std::int64_t total_weight() const;

  // Nearest-rank percentile: the smallest value with at least `per_mille` thousandths of the weight
  // at or below it. 0 for an empty histogram.
  std::int64_t percentile(std::int64_t per_mille) const;

  void merge(const Histogram& other);

 private:
  static constexpr int kPrecisionBits = 7;
  static constexpr std::uint64_t kExactBelow = std::uint64_t{2} << kPrecisionBits;
  static constexpr std::size_t kBucketsPerPower = std::size_t{1} << kPrecisionBits;

  static std::size_t bucket_of(std::uint64_t value) {
    if (value < kExactBelow) return value;
    const int shift = 63 - std::countl_zero(value) - kPrecisionBits;
    return kExactBelow + (static_cast<std::size_t>(shift - 1) << kPrecisionBits) +
           (value >> shift) - (std::uint64_t{1} << kPrecisionBits);
  }
  static std::int64_t middle_of(std::size_t bucket);

  std::vector<std::int64_t> weights_;  // by bucket, up to the largest that was needed
};

}  // namespace recto::sim
