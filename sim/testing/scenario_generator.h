#pragma once

// Random small scenarios. Each case turns some features off, so that no feature always hides
// another (swarm testing: Groce et al., ISSTA 2012).

#include "bazel/testing/property.h"
#include "sim/testing/scenario.h"

namespace recto::sim {

// Draws any allocator and any rules.
Scenario draw_scenario(Draw& draw);

// The same for one kind of allocator.
Scenario draw_scenario(Draw& draw, AllocatorKind kind);

// Paged only: the pool has the fewest blocks that suffice for the largest request, and requests
// arrive close together.
Scenario draw_squeezed_scenario(Draw& draw, AllocatorKind kind);

}  // namespace recto::sim
