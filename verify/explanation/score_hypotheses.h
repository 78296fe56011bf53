#pragma once

// Faults in how a score is made of its product: scales that are applied too late, and distances of
// ALiBi that are not counted from the row.

#include "verify/explanation/hypothesis_trial.h"

namespace recto::verify {

// Tries scales, K's and that of the call, which multiply what the soft cap gives.
void add_late_scales(HypothesisTrial& trial);

void add_alibi_origins(HypothesisTrial& trial);

}  // namespace recto::verify
