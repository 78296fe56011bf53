#pragma once

// Faults in how a row goes through its keys: it ends too early, or what it has summed of some keys
// is not brought to the maximum of all of them.

#include "verify/explanation/hypothesis_trial.h"

namespace recto::verify {

void add_cut_offs(HypothesisTrial& trial);

// Each way of summing parts wrongly, over parts of usual sizes and over usual numbers of splits.
void add_unscaled_sums(HypothesisTrial& trial);

}  // namespace recto::verify
