#include "verify/ptx/machine/access_counts.h"

#include <algorithm>

namespace recto::ptx {

void count_access(const Access& access, MemorySpace space, const LaneAddresses& addresses,
                  Counters& counters) {
  std::array<std::uint64_t, kWarpSize> units = {};
  std::size_t count = 0;
  if (space == MemorySpace::kLocal || space == MemorySpace::kParam ||
      space == MemorySpace::kConst) {
    return;
  }
  if (space == MemorySpace::kGlobal) {
    for_each_lane_of(access.lanes, [&](unsigned lane) {
      counters.global_bytes += access.bytes;
      units[count++] = addresses[lane] / 32;
    });
    std::sort(units.begin(), units.begin() + static_cast<std::ptrdiff_t>(count));
    counters.global_sectors += static_cast<std::uint64_t>(
        std::unique(units.begin(), units.begin() + static_cast<std::ptrdiff_t>(count)) -
        units.begin());
    return;
  }
  // Accesses of 8 and 16 bytes take two and four passes of 16 and 8 lanes, which is no conflict.
  const unsigned lanes_at_once = kWarpSize * 4 / std::max<std::uint32_t>(access.bytes, 4);
  for (unsigned first = 0; first < kWarpSize; first += std::max(lanes_at_once, 1U)) {
    std::array<std::vector<std::uint64_t>, kWarpSize> words;
    std::size_t passes = 0;
    for (unsigned lane = first; lane < std::min(first + lanes_at_once, kWarpSize); ++lane) {
      if ((access.lanes >> lane & 1) == 0) continue;
      for (std::uint64_t word = addresses[lane] / 4;
           word <= (addresses[lane] + access.bytes - 1) / 4; ++word) {
        std::vector<std::uint64_t>& bank = words[word % kWarpSize];
        if (std::find(bank.begin(), bank.end(), word) == bank.end()) bank.push_back(word);
        passes = std::max(passes, bank.size());
      }
    }
    counters.bank_conflicts += passes > 1 ? passes - 1 : 0;
  }
}

}  // namespace recto::ptx
