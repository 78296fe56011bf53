#pragma once

// What is remembered of the accesses to one piece of memory: the last write, and those reads (or
// atomic operations) since that a write would conflict with. As in FastTrack (Flanagan and Freund,
// 2009), but ordered by barriers, and without a clock for each thread.

#include <cstdint>

#include "verify/simt/checks/access_stamp.h"

namespace recto::simt {

// Who else there is in a record's set, beside its latest member.
enum class Others : std::uint8_t {
  kNone,
  kLanes,   // lanes of its warp, at its clock
  kClocks,  // lanes of its warp, at clocks of their own
  kWarp,    // a thread of another warp of its block, in its era; perhaps more
  kBlock,   // a thread of another block; perhaps more
};

// How a piece of memory is divided among records.
enum class Division : std::uint8_t { kWhole, kHalves, kBytes };

struct AccessRecord {
  Stamp write = {};
  // The set's latest member. The set are plain reads, or else atomic operations: what does not
  // conflict with itself. It is empty if this is before all launches.
  Stamp latest = {};
  std::uint32_t other = 0;  // mask of lanes, row of clocks, clock, or era: see `others`
  std::uint16_t other_thread = 0;
  Others others = Others::kNone;
  Division division = Division::kWhole;
  // The lower halves of addresses of instructions.
  std::uint32_t write_at = 0;
  std::uint32_t latest_at = 0;
};
static_assert(sizeof(AccessRecord) == 32);

}  // namespace recto::simt
