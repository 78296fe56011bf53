#pragma once

// Cases of the generators as the runner takes them: described, replayable, and with simpler ones to
// shrink to.

#include <string>

#include "verify/generators/case_spec.h"
#include "verify/law_runner.h"

namespace recto::verify {

// `replay` is the command that tries this case, or the one it was shrunk from.
DescribedCase drawn_case(const CaseSpec& spec, const std::string& replay);

}  // namespace recto::verify
