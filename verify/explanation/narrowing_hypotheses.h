#pragma once

// Products whose inputs are narrower than q's type: to TF32, bf16 or fp16.

#include "verify/explanation/hypothesis_trial.h"

namespace recto::verify {

// Tries either product and both, with inputs that are rounded to nearest and that are cut off. Of
// those that fit, it names the closest, and those as close.
void add_narrowed_inputs(HypothesisTrial& trial);

}  // namespace recto::verify
