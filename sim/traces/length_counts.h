#pragma once

// Exact statistics of token lengths, from the number of occurrences of each length.

#include <cstdint>
#include <map>

#include "core/units.h"

namespace recto::sim {

struct LengthFigures {
  std::int64_t count = 0;
  TokenCount sum;
  double mean = 0;  // 0 without any length, as all the rest
  TokenCount p50;
  TokenCount p90;
  TokenCount p99;
  TokenCount max;
};

// Memory O(distinct lengths), which the longest length bounds, not the number of requests.
class LengthCounts {
 public:
  void add(TokenCount length);  // O(log distinct lengths)

  // The smallest length that at least `percent` % of all lengths do not exceed (nearest rank,
  // ceil(percent/100 * count); no interpolation). `percent` in 1..100; 0 if there are no lengths.
  TokenCount percentile(int percent) const;

  LengthFigures figures() const;

 private:
  std::map<TokenCount, std::int64_t> counts_;
  std::int64_t count_ = 0;
  TokenCount sum_;
};

}  // namespace recto::sim
