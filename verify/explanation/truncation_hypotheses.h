#pragma once

// Numbers that are truncated to the 16-bit type of q instead of rounded to nearest: the weights, K
// and V as decoded from fp8, the outputs.

#include "verify/explanation/hypothesis_trial.h"

namespace recto::verify {

// Tries them one by one and together, where the backend's numerics have such a rounding.
void add_truncations(HypothesisTrial& trial);

}  // namespace recto::verify
