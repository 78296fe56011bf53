#pragma once

// Random small scenarios. Each case turns some features off, so that no feature always hides
// another (swarm testing: Groce et al., ISSTA 2012).

#include <rapidcheck.h>

#include "sim/testing/scenario.h"

namespace recto::sim {

// Any allocator, any rules.
rc::Gen<Scenario> arbitrary_scenario();

// The same for one kind of allocator.
rc::Gen<Scenario> arbitrary_scenario(AllocatorKind kind);

// Paged only: the fewest blocks that suffice for the request that needs the most, with requests
// arriving close together.
rc::Gen<Scenario> squeezed_scenario(AllocatorKind kind);

}  // namespace recto::sim
