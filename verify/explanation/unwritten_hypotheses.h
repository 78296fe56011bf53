#pragma once

// Rows, with keys and without, of which a kernel leaves what memory held before, or makes something
// of it.

#include "verify/explanation/hypothesis_trial.h"

namespace recto::verify {

// Where the backend can be handed such memory.
void add_unwritten(HypothesisTrial& trial);

}  // namespace recto::verify
