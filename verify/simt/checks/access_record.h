#pragma once

// The recorded accesses to one piece of memory: the last write, and the later reads (or atomic
// operations) with which a write would conflict. As in FastTrack (Flanagan and Freund, 2009), but
// ordered by barriers, and without a clock for each thread.

#include <cstdint>

#include "verify/simt/checks/access_stamp.h"

namespace recto::simt {

// The members of a record's set besides its latest one.
enum class Others : std::uint8_t {
  kNone,
  kLanes,   // lanes of its warp, at its clock
  kClocks,  // lanes of its warp, at clocks of their own
  kWarp,    // a thread of another warp of its block, in its epoch; perhaps more
  kBlock,   // a thread of another block; perhaps more
};

// How a piece of memory is divided among records.
enum class Division : std::uint8_t { kWhole, kHalves, kBytes };

struct AccessRecord {
  Stamp write = {};
  // The set's latest member. The set consists of either plain reads or atomic operations, which do
  // not conflict among themselves. It is empty if this stamp is before all launches.
  Stamp latest = {};
  std::uint32_t other = 0;  // lane mask, row of clocks, clock, or epoch, depending on `others`
  std::uint16_t other_thread = 0;
  Others others = Others::kNone;
  Division division = Division::kWhole;
  // The lower halves of instruction addresses.
  std::uint32_t write_at = 0;
  std::uint32_t latest_at = 0;
};
static_assert(sizeof(AccessRecord) == 32);

}  // namespace recto::simt
