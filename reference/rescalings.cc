#include "reference/rescalings.h"

#include <algorithm>
#include <vector>

#include "core/units.h"

namespace recto::reference {

std::int64_t longest_climb(const Vector& scores) {
  std::int64_t longest = 1;
  struct Start {
    double score;
    std::int64_t climb;  // of a pass that begins at this key
  };
  std::vector<Start> larger_ones;  // later keys with larger scores, nearest on top
  for (std::int64_t key = scores.size(); key-- > 0;) {
    while (!larger_ones.empty() && larger_ones.back().score <= scores[key]) {
      larger_ones.pop_back();
    }
    const std::int64_t climb = larger_ones.empty() ? 1 : larger_ones.back().climb + 1;
    larger_ones.push_back({scores[key], climb});
    longest = std::max(longest, climb);
  }
  return longest;
}

std::int64_t longest_rise(const Vector& scores) {
  std::vector<double> smallest_end;  // of increasing subsequences of length index + 1
  for (const double score : scores) {
    const auto place = std::lower_bound(smallest_end.begin(), smallest_end.end(), score);
    if (place == smallest_end.end()) {
      smallest_end.push_back(score);
    } else {
      *place = score;
    }
  }
  return std::max<std::int64_t>(1, std::ssize(smallest_end));
}

std::int64_t rescalings(const Vector& scores, const KernelNumerics& numerics) {
  const Vector backwards = scores.reverse();
  const bool is_consecutive = numerics.tile_order == TileOrder::kConsecutive;
  std::int64_t maxima = is_consecutive ? std::max(longest_climb(scores), longest_climb(backwards))
                                       : std::max(longest_rise(scores), longest_rise(backwards));
  // If the first tile begins before the first visible key, there is one more tile.
  if (is_consecutive) {
    maxima = std::min(maxima, ceil_div(scores.size(), numerics.tile_size) + 1);
  }
  const bool has_splits = scores.size() > numerics.keys_per_split(scores.size());
  return maxima - 1 + numerics.state_merges + (has_splits ? 1 : 0);
}

}  // namespace recto::reference
