#pragma once

// Draws gaps as callers have them.

#include "core/random_stream.h"
#include "verify/problems/attention_problem.h"
#include "verify/problems/placed_problem.h"

namespace recto::verify {

// Of one kind: those of q and new K and V as slices of one fused row, with a dense out; of K and V
// that take turns in one pool, by blocks or by slots; some of a cache's; or some of rows'. Of the
// last two, each is none, 16 or 32 elements on its own.
Gaps draw_gaps(const ProblemShape& shape, const Placement& placement, RandomStream& stream);

}  // namespace recto::verify
