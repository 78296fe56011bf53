#pragma once

// Faults in how a score is made of its product: scales that are applied too late, ALiBi that is
// added too early, and its distances that are not counted from the row.

#include "verify/explanation/hypothesis_trial.h"

namespace recto::verify {

// Tries scales, K's and that of the call, which multiply what the soft cap gives.
void add_late_scales(HypothesisTrial& trial);

// Tries ALiBi as a part of what the soft cap is given.
void add_capped_alibi(HypothesisTrial& trial);

void add_alibi_origins(HypothesisTrial& trial);

}  // namespace recto::verify
