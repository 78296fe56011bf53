#pragma once

// How many values are alike. The sharp bound takes rounding errors to be independent; equal terms
// make equal errors, which add up instead of averaging out.

#include <cstdint>
#include <span>

#include "reference/numerics.h"

namespace recto::reference {

// How often the most frequent magnitude occurs; 0 for none. O(n), expected.
std::int64_t multiplicity(std::span<const double> values);

// How far a sum of these terms, one after the other, drifts in one direction because its roundings
// are not random: |sum of (term as it is rounded to a multiple of ulp - term)|, the largest over
// the ulps of partial sums down to an eighth of the largest one. Terms that differ by less than an
// ulp all round alike. O(n).
double rounding_drift(std::span<const double> terms, const Accumulation& sum);

}  // namespace recto::reference
