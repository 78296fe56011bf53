#pragma once

// What a sum of floating-point terms may be off by, relative to the sum of their magnitudes.
// docs/numerics.md, "Sums".

#include <cstdint>

#include "reference/numerics.h"

namespace recto::reference {

struct SumError {
  double hard = 0.0;       // rigorous
  double bias = 0.0;       // the part of the sharp bound that does not average out: truncation
  double deviation = 0.0;  // sqrt(depth) u: to be multiplied by lambda
};

// Additions that a term passes through on its way into the result.
std::int64_t depth(const Accumulation& sum, std::int64_t terms);

// `coherence` terms (>= 1) are alike and round alike; `further_roundings` to nearest are passed by
// each term besides the additions.
SumError sum_error(const Accumulation& sum, std::int64_t terms, double coherence,
                   double further_roundings);

// (1 + roundoff)^count - 1.
double compound(double roundoff, double count);

}  // namespace recto::reference
