#pragma once

// Faults in how a row goes through its keys: it ends too early, or a partial sum is not rescaled to
// the maximum of all keys.

#include "verify/explanation/hypothesis_trial.h"

namespace recto::verify {

void add_cut_offs(HypothesisTrial& trial);

// Tries each wrong way of summing parts, for usual part sizes and usual numbers of splits.
void add_unscaled_sums(HypothesisTrial& trial);

}  // namespace recto::verify
