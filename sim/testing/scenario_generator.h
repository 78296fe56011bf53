#pragma once

// Random small scenarios. Each case switches some features off, so that none always hides another
// (swarm testing: Groce et al., ISSTA 2012).

#include <rapidcheck.h>

#include "sim/testing/scenario.h"

namespace recto::sim {

// Any allocator, any rules.
rc::Gen<Scenario> arbitrary_scenario();

// The same over one kind of allocator.
rc::Gen<Scenario> arbitrary_scenario(AllocatorKind kind);

// Paged: as few blocks as the neediest request can do with, and everybody at once.
rc::Gen<Scenario> squeezed_scenario(AllocatorKind kind);

}  // namespace recto::sim
