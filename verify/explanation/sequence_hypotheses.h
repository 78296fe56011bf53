#pragma once

// Faults in finding the sequence that a row of the batch belongs to, from where the rows of each
// sequence start: the search is off by one at a boundary, or where a sequence has no rows.

#include "verify/explanation/hypothesis_trial.h"

namespace recto::verify {

void add_row_searches(HypothesisTrial& trial);

}  // namespace recto::verify
