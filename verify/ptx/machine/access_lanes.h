#pragma once

// The lanes of an access, looked at together.

#include <bit>
#include <string>

#include "verify/ptx/machine/reporter.h"
#include "verify/ptx/machine/warp.h"

namespace recto::ptx {

struct Extent {
  std::uint64_t low = ~std::uint64_t{0};
  std::uint64_t high = 0;
  std::uint64_t bits = 0;  // of all addresses
};

inline Extent extent_of(const LaneAddresses& addresses, LaneMask lanes) {
  Extent extent;
  const auto add = [&](std::uint64_t address) {
    extent.low = address < extent.low ? address : extent.low;
    extent.high = address > extent.high ? address : extent.high;
    extent.bits |= address;
  };
  if (lanes == kAllLanes) {
    for (const std::uint64_t address : addresses) add(address);
  } else {
    for_each_lane_of(lanes, [&](unsigned lane) { add(addresses[lane]); });
  }
  return extent;
}

inline void fill_others(LaneMask lanes, LaneAddresses& addresses) {
  if (lanes == kAllLanes) return;
  const std::uint64_t any = addresses[static_cast<unsigned>(std::countr_zero(lanes))];
  for (unsigned lane = 0; lane < kWarpSize; ++lane) {
    addresses[lane] = (lanes >> lane & 1) != 0 ? addresses[lane] : any;
  }
}

inline std::string what_of(const Access& access) {
  return std::string(access.verb) + " " + std::to_string(access.bytes) +
         (access.bytes == 1 ? " byte of " : " bytes of ");
}

// If all lanes read one place, two of them stand for all.
inline LaneMask lanes_to_check(const Access& access, const Extent& extent) {
  if (extent.low != extent.high || access.kind != AccessKind::kRead ||
      std::popcount(access.lanes) < 3) {
    return access.lanes;
  }
  return LaneMask{1} << std::countr_zero(access.lanes) | std::bit_floor(access.lanes);
}

}  // namespace recto::ptx
