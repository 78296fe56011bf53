#pragma once

// Parts of a drawn case that a domain demands, whatever was drawn.

#include <cstdint>

#include "core/random_stream.h"
#include "verify/cases/case_generator.h"

namespace recto::verify {

// Draws around the edges of the block and the context, where a window starts or ceases to matter.
std::int64_t draw_window(const CaseSpec& spec, RandomStream& stream);

// Changes what was drawn to what the domain demands: features that each case has, sequences that
// are not empty, scales, sinks, tails. Scores stay within their limit.
void meet_demands(const CaseDomain& domain, RandomStream stream, CaseSpec& spec);

}  // namespace recto::verify
