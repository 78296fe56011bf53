#pragma once

// Faults in rows without a key to attend to: divided by a sum of 0, not written, written with what
// belongs to other rows, or attending to keys all the same.

#include "verify/explanation/hypothesis_trial.h"

namespace recto::verify {

// Nothing is tried if no such row is wrong.
void add_empty_rows(HypothesisTrial& trial);

}  // namespace recto::verify
