#pragma once

#include "verify/ptx/machine/reporter.h"

namespace recto::ptx {

// Adds the sectors or the bank conflicts of an access by a warp.
void count_access(const Access& access, MemorySpace space, const LaneAddresses& addresses,
                  Counters& counters);

}  // namespace recto::ptx
