#pragma once

// Error bounds of a floating-point sum, relative to the sum of the terms' magnitudes. See
// docs/numerics.md, "Sums".

#include <cstdint>

#include "reference/numerics.h"

namespace recto::reference {

struct SumError {
  double worst_case = 0.0;  // rigorous
  double bias = 0.0;  // the part of the probabilistic bound that does not average out: truncation
  double deviation = 0.0;  // sqrt(depth) u: to be multiplied by lambda
};

// The number of additions between a term and the result.
std::int64_t depth(const Accumulation& sum, std::int64_t terms);

// `coherence` (>= 1) is the number of equal terms, which round alike. `further_roundings` is the
// number of roundings to nearest of each term besides the additions.
SumError sum_error(const Accumulation& sum, std::int64_t terms, double coherence,
                   double further_roundings);

// Properties of the terms that tighten the probabilistic bound.
struct SummedTerms {
  double magnitudes = 0.0;    // sum of |term|
  double partial_sums = 0.0;  // the largest |partial sum| or |term|, at most `magnitudes`
  double net_terms = 0.0;     // largest excess of one sign over the other, in any stretch
};

// The probabilistic bound of a sum, relative to the sum of magnitudes. Rounding errors are relative
// to partial sums, which stay small if terms have both signs. On average, the same holds for the
// truncation errors of a truncating sum.
double probabilistic_sum_error(const Accumulation& sum, std::int64_t terms, const SumError& error,
                               const SummedTerms& summed, double lambda);

// (1 + roundoff)^count - 1.
double compound(double roundoff, double count);

}  // namespace recto::reference
