#pragma once

// Draws gaps as callers have them.

#include <cstdint>

#include "core/random_stream.h"
#include "verify/cases/attention_problem.h"
#include "verify/cases/placed_problem.h"

namespace recto::verify {

// Of one kind: those of q and new K and V as slices of one fused row, with a dense out; of K and V
// that take turns in one pool, by blocks or by slots; some of a cache's; or some of rows'. Of the
// last two, each is none, one unit or two on its own. All are multiples of `unit` elements. Within
// packs of K, whose slots are apart where a cache has gaps of its own, or takes turns by slots, the
// gap is one unit, but no wider than a pack.
Gaps draw_gaps(const ProblemShape& shape, const Placement& placement, std::int64_t unit,
               RandomStream& stream);

}  // namespace recto::verify
