#include "reference/accumulation.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/contract.h"
#include "core/units.h"

namespace recto::reference {
namespace {

// Levels of the tree that adds the sums of the lanes.
std::int64_t tree_levels(std::int64_t lanes) {
  return std::bit_width(static_cast<std::uint64_t>(lanes) - 1);
}

std::int64_t steps(const Accumulation& sum, std::int64_t terms) {
  return ceil_div(terms, sum.lanes * sum.terms_per_step);
}

}  // namespace

double compound(double roundoff, double count) { return std::expm1(count * std::log1p(roundoff)); }

std::int64_t depth(const Accumulation& sum, std::int64_t terms) {
  return steps(sum, terms) * sum.terms_per_step + tree_levels(sum.lanes);
}

SumError sum_error(const Accumulation& sum, std::int64_t terms, double coherence,
                   double further_roundings) {
  RECTO_CHECK_GE(sum.lanes, 1);
  RECTO_CHECK_GE(sum.terms_per_step, 1);
  RECTO_CHECK_GE(coherence, 1.0);
  const double unit = sum.unit_roundoff;
  const double other_roundings = static_cast<double>(sum.product_roundings) + further_roundings;
  SumError error;
  if (sum.rounding == AccumulatorRounding::kNearest) {
    const double roundings = static_cast<double>(depth(sum, terms)) + other_roundings;
    error.worst_case = compound(unit, roundings);
    error.deviation = std::sqrt(roundings * coherence) * unit;
  } else {
    // In each step, each term, the partial sum and the result are truncated at a unit in the last
    // place (two roundoffs) of the largest of them.
    const auto cuts_per_step = static_cast<double>(sum.terms_per_step + 2);
    const auto step_count = static_cast<double>(steps(sum, terms));
    const double to_nearest = static_cast<double>(tree_levels(sum.lanes)) + other_roundings;
    const double cut = compound(cuts_per_step * 2 * unit, step_count);
    error.worst_case = (1 + cut) * (1 + compound(unit, to_nearest)) - 1;
    error.bias = cut / 2;
    error.deviation = std::sqrt((step_count * cuts_per_step + to_nearest) * coherence) * unit;
  }
  return error;
}

double probabilistic_sum_error(const Accumulation& sum, std::int64_t terms, const SumError& error,
                               const SummedTerms& summed, double lambda) {
  const double deviation = lambda * error.deviation;
  // Each truncation loses half a unit on average. Terms are truncated towards zero; the truncations
  // of the accumulator and of each step's result may all have the same sign.
  const double cuts = sum.rounding == AccumulatorRounding::kTruncate
                          ? summed.net_terms + 2.0 * static_cast<double>(steps(sum, terms))
                          : 0.0;
  const double share = summed.magnitudes > 0 ? summed.partial_sums / summed.magnitudes : 1.0;
  return std::min(error.bias + deviation, (cuts * sum.unit_roundoff + deviation) * share);
}

}  // namespace recto::reference
