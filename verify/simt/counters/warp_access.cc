#include "verify/simt/counters/warp_access.h"

#include <algorithm>
#include <array>

namespace recto::simt {

std::vector<std::uint64_t> WarpAccess::units(std::uint64_t unit_bytes) const {
  std::vector<std::uint64_t> units;
  for (const LaneRange& range : ranges_) {
    for (std::uint64_t unit = range.begin / unit_bytes; unit * unit_bytes < range.end; ++unit) {
      units.push_back(unit);
    }
  }
  std::ranges::sort(units);
  const auto rest = std::ranges::unique(units);
  units.erase(rest.begin(), rest.end());
  return units;
}

std::uint64_t WarpAccess::bytes() const {
  std::vector<LaneRange> sorted = ranges_;
  std::ranges::sort(sorted, {}, &LaneRange::begin);
  std::uint64_t bytes = 0;
  std::uint64_t end = 0;
  for (const LaneRange& range : sorted) {
    if (range.end <= end) continue;
    bytes += range.end - std::max(range.begin, end);
    end = range.end;
  }
  return bytes;
}

std::uint64_t WarpAccess::bank_passes() const {
  std::array<std::uint64_t, kBanks> words = {};
  for (const std::uint64_t word : units(kBankBytes)) ++words[word % kBanks];
  return *std::ranges::max_element(words);
}

std::uint64_t WarpAccess::bank_passes_min() const {
  return (units(kBankBytes).size() + kBanks - 1) / kBanks;
}

}  // namespace recto::simt
