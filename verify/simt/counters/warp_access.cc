#include "verify/simt/counters/warp_access.h"

#include <algorithm>
#include <array>

namespace recto::simt {

namespace {

constexpr unsigned kLanes = 32;

void add_units(const LaneRange& range, std::uint64_t unit_bytes, std::vector<std::uint64_t>& to) {
  for (std::uint64_t unit = range.begin / unit_bytes; unit * unit_bytes < range.end; ++unit) {
    to.push_back(unit);
  }
}

// Removes duplicates, and sorts.
void make_unique(std::vector<std::uint64_t>& units) {
  std::ranges::sort(units);
  // clang++ 14 cannot compile libstdc++'s ranges::subrange, which ranges::unique returns.
  units.erase(std::unique(units.begin(), units.end()), units.end());
}

}  // namespace

std::uint64_t WarpAccess::sectors() const {
  std::vector<std::uint64_t> sectors;
  for (const LaneRange& range : ranges_) add_units(range, kSectorBytes, sectors);
  make_unique(sectors);
  return sectors.size();
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

unsigned WarpAccess::lanes_served_together() const {
  std::uint64_t widest = 0;
  for (const LaneRange& range : ranges_) widest = std::max(widest, range.end - range.begin);
  if (widest <= kBankBytes) return kLanes;
  return widest <= 2 * kBankBytes ? kLanes / 2 : kLanes / 4;
}

std::vector<std::vector<std::uint64_t>> WarpAccess::words_by_group() const {
  const unsigned lanes = lanes_served_together();
  std::vector<std::vector<std::uint64_t>> groups(kLanes / lanes);
  for (const LaneRange& range : ranges_) add_units(range, kBankBytes, groups[range.lane / lanes]);
  for (std::vector<std::uint64_t>& words : groups) make_unique(words);
  return groups;
}

std::uint64_t WarpAccess::bank_passes() const {
  std::uint64_t passes = 0;
  for (const std::vector<std::uint64_t>& words : words_by_group()) {
    std::array<std::uint64_t, kBanks> in_bank = {};
    for (const std::uint64_t word : words) ++in_bank[word % kBanks];
    passes += *std::ranges::max_element(in_bank);
  }
  return passes;
}

std::uint64_t WarpAccess::bank_passes_min() const {
  std::uint64_t passes = 0;
  for (const std::vector<std::uint64_t>& words : words_by_group()) {
    passes += (words.size() + kBanks - 1) / kBanks;
  }
  return passes;
}

}  // namespace recto::simt
