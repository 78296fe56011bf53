#pragma once

// mbarrier instructions.

#include <optional>

#include "verify/ptx/machine/block_memory.h"
#include "verify/ptx/machine/warp.h"

namespace recto::ptx {

// All but waits. False if the kernel cannot go on.
bool operate(BlockMemory& memory, const WarpStep& at, const Detail& detail);

// test_wait and try_wait: the lanes whose phase has ended. Nothing if the kernel cannot go on.
// Those who wait let copies that are under way take place; those who look do not.
enum class Patience : std::uint8_t { kWaits, kLooks };
std::optional<LaneMask> lanes_of_ended_phases(BlockMemory& memory, const WarpStep& at,
                                              const Detail& detail, Patience patience);

// The mbarrier where the operand points, and where that is. An error, in words of the kernel's,
// if there is none.
struct MbarrierAt {
  Mbarrier* object = nullptr;
  BlockMemory::SharedPlace place = {};
};
std::optional<MbarrierAt> mbarrier_at(BlockMemory& memory, const WarpStep& at,
                                      const MemoryOperand& operand, unsigned lane);

}  // namespace recto::ptx
