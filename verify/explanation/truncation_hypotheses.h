#pragma once

// Numbers that are cut off to the 16-bit type of q where they should be rounded to nearest: the
// weights, K and V as they come out of fp8, the outputs.

#include "verify/explanation/hypothesis_trial.h"

namespace recto::verify {

// Alone and together, where the backend's numerics have such a rounding.
void add_truncations(HypothesisTrial& trial);

}  // namespace recto::verify
