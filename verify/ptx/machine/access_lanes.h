#pragma once

// The lanes of an access, looked at together.

#include <array>
#include <bit>
#include <string>

#include "verify/ptx/lanes/lane_tables.h"
#include "verify/ptx/machine/reporter.h"
#include "verify/ptx/machine/warp.h"

namespace recto::ptx {

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

inline BlockChecker::Access access_of(const Warp& warp, const Access& access) {
  return {access.kind, warp.number, 0, access.step->place, access.operation};
}

// If several lanes read one place, two of them are checked. Others are seldom found unless they are
// near.
inline LaneMask lanes_to_check(const Access& access, const AddressExtent& extent,
                               const LaneAddresses& addresses) {
  const bool may_overlap =
      !std::has_single_bit(access.bytes) || (extent.bits & (access.bytes - 1)) != 0;
  if (access.kind != AccessKind::kRead || may_overlap) return access.lanes;
  if (extent.low == extent.high) {
    return (access.lanes & -access.lanes) | std::bit_floor(access.lanes);
  }
  const int shift = std::countr_zero(access.bytes);
  std::array<LaneMask, kWarpSize / 2> readers = {};
  if ((extent.high - extent.low) >> shift >= readers.size()) return access.lanes;
  for_each_lane_of(access.lanes, [&](unsigned lane) {
    readers[(addresses[lane] - extent.low) >> shift] |= LaneMask{1} << lane;
  });
  LaneMask lanes = 0;
  for (const LaneMask each : readers) lanes |= (each & -each) | std::bit_floor(each);
  return lanes;
}

}  // namespace recto::ptx
