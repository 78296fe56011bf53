#pragma once

// Draws gaps that occur in callers' memory.

#include <cstdint>

#include "core/random_stream.h"
#include "verify/cases/attention_problem.h"
#include "verify/cases/placed_problem.h"

namespace recto::verify {

// Draws one of four kinds: q and new K and V as slices of one fused row, with a dense out; K and V
// alternating in one pool, by blocks or by slots; some gaps of the cache; or some gaps of rows. In
// the last two kinds, each gap is none, one unit or two, independently. All gaps are multiples of
// `unit` elements. The gap within packs of K, in caches with gaps of their own or alternating
// slots, is one unit, but no wider than a pack.
Gaps draw_gaps(const ProblemShape& shape, const Placement& placement, std::int64_t unit,
               RandomStream& stream);

}  // namespace recto::verify
