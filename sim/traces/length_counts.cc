#include "sim/traces/length_counts.h"

#include "core/contract.h"

namespace recto::sim {

void LengthCounts::add(TokenCount length) {
  ++counts_[length];
  ++count_;
  sum_ += length;
}

TokenCount LengthCounts::percentile(int percent) const {
  RECTO_CHECK(percent >= 1 && percent <= 100);
  const std::int64_t rank = ceil_div(count_ * percent, 100);
  std::int64_t passed = 0;
  for (const auto& [length, count] : counts_) {
    passed += count;
    if (passed >= rank) return length;
  }
  return TokenCount(0);
}

LengthFigures LengthCounts::figures() const {
  if (count_ == 0) return {};
  return {.count = count_,
          .sum = sum_,
          .mean = static_cast<double>(sum_.value()) / static_cast<double>(count_),
          .p50 = percentile(50),
          .p90 = percentile(90),
          .p99 = percentile(99),
          .max = counts_.rbegin()->first};
}

}  // namespace recto::sim
