#pragma once

// What a domain requires of each case: options that must be there, and others that may not.

#include <cstdint>

#include "core/random_stream.h"
#include "verify/cases/case_generator.h"
#include "verify/cases/case_spec.h"

namespace recto::verify {

// Draws around the edges of the block and the context, where a window starts or ceases to matter.
std::int64_t draw_window(const CaseSpec& spec, RandomStream& stream);

// Changes a drawn case to what the domain requires. Scores stay within the limits of the bounds.
void meet_requirements(const CaseDomain& domain, RandomStream stream, CaseSpec& spec);

}  // namespace recto::verify
