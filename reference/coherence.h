#pragma once

// Counts how many values are alike. The probabilistic bound assumes that rounding errors are
// independent; equal terms make equal errors, which add up instead of averaging out.

#include <cstdint>
#include <span>

#include "reference/numerics.h"

namespace recto::reference {

// The number of occurrences of the most frequent magnitude; 0 if there are no values. Expected
// O(n).
std::int64_t multiplicity(std::span<const double> values);

// How far a sequential sum of these terms drifts in one direction because its rounding errors are
// not random: |sum of (term rounded to a multiple of ulp - term)|, maximised over the ulps of
// partial sums down to an eighth of the largest one. Terms that differ by less than an ulp all
// round the same way. O(n).
double rounding_drift(std::span<const double> terms, const Accumulation& sum);

}  // namespace recto::reference
