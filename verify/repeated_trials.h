#pragma once

// Whether a case that held alone fails only after its checks, or only sometimes: tried a few times.

#include <string>

#include "verify/failing_case.h"

namespace recto::verify {

// Of a case that did not fail in its own way alone: "it holds alone in a new process".
std::string alone_text(const LawVerdict& alone);

// The case as it is shown, put to a restarted backend again and again, alone and after its checks
// in turn, and with a remark on what came of that. It is left without its checks if it fails as
// often alone.
FailingCase tried_repeatedly(const Attempt& attempt, FailingCase failing, TrialBudget& budget);

}  // namespace recto::verify
