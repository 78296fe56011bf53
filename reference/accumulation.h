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

// The number of additions that a term passes through on its way into the result.
std::int64_t depth(const Accumulation& sum, std::int64_t terms);

// `coherence` (>= 1) is the number of terms that are alike and so round alike. `further_roundings`
// is the number of roundings to nearest that each term undergoes besides the additions.
SumError sum_error(const Accumulation& sum, std::int64_t terms, double coherence,
                   double further_roundings);

// What the probabilistic bound knows about the terms themselves.
struct SummedTerms {
  double magnitudes = 0.0;    // sum of |term|
  double partial_sums = 0.0;  // the largest |partial sum| or |term|, at most `magnitudes`
  double net_terms = 0.0;     // how many more are of one sign than of the other, in any stretch
};

// The probabilistic bound of a sum, relative to the sum of magnitudes. Rounding errors are relative
// to partial sums, which stay small where terms have both signs; the same holds, on average, for
// the truncation errors of a truncating sum.
double probabilistic_sum_error(const Accumulation& sum, std::int64_t terms, const SumError& error,
                               const SummedTerms& summed, double lambda);

// (1 + roundoff)^count - 1.
double compound(double roundoff, double count);

}  // namespace recto::reference
