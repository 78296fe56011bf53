#pragma once

// Counts equal values. The probabilistic bound assumes independent rounding errors; equal terms
// make equal errors, which add up instead of averaging out.

#include <cstdint>
#include <span>

#include "reference/numerics.h"

namespace recto::reference {

// The number of occurrences of the most frequent magnitude; 0 if there are no values. Expected
// O(n).
std::int64_t multiplicity(std::span<const double> values);

// The drift of a sequential sum of these terms in one direction, due to rounding errors that are
// not random: |sum of (term rounded to a multiple of ulp - term)|, maximised over the ulps of
// partial sums down to an eighth of the largest ulp. Terms that differ by less than an ulp all
// round the same way. O(n).
double rounding_drift(std::span<const double> terms, const Accumulation& sum);

}  // namespace recto::reference
