// (a b) c and a (b c) differ by rounding alone; the maximum is not rounded. In l and o, part x
// passes at most two merges on either side, and the arguments m_x - m of its exponentials sum to
// its distance from the final maximum. Each merge rounds the argument, the exponential, a product
// and a sum. With u the unit roundoff, the part's relative error on one side is below expm1 of
//
//   2 (exponential.relative + 2 u + argument_roundings u |m|) + (u + relative_slope) |m_x - m|
//
// for (1 - a)(1 - b) >= 1 - a - b and 1 + a <= exp(a). What exp() flushes to zero, and underflow of
// products, is added in absolute terms.

#include <algorithm>
#include <cmath>

#include "verify/laws/laws.h"
#include "verify/laws/partial_states.h"

namespace recto::verify {
namespace {

using reference::KernelNumerics;
using reference::SoftmaxState;

constexpr double kMergesPerSide = 2.0;

// The error bound of one side's sum over parts of x_p exp(m_p - m).
class MergedError {
 public:
  MergedError(const KernelNumerics& numerics, double maximum)
      : numerics_(numerics), maximum_(maximum), bound_(kMergesPerSide * 2 * numerics.underflow) {}

  void add_part(double part_maximum, double value) {
    if (value == 0) return;
    const double distance = maximum_ - part_maximum;
    const double u = numerics_.unit_roundoff;
    const double largest = std::max(std::abs(maximum_), std::abs(part_maximum));
    const double relative = kMergesPerSide * (numerics_.exponential.relative + 2 * u +
                                              numerics_.argument_roundings * u * largest) +
                            distance * (u + numerics_.exponential.relative_slope);
    bound_ += std::abs(value) * (std::exp(-distance) * std::expm1(relative) +
                                 kMergesPerSide * numerics_.exponential.flush);
  }

  double bound() const { return bound_; }

 private:
  const KernelNumerics& numerics_;
  double maximum_;
  double bound_;
};

// Compares one component of both sides' states.
template <typename Component>
ComparedValues compared(const MergeTrial& trial, const SoftmaxState& seen,
                        const SoftmaxState& expected, Component&& component) {
  MergedError error(trial.numerics, expected.maximum);
  for (const SoftmaxState& part : trial.row.parts) error.add_part(part.maximum, component(part));
  return {.seen = component(seen), .expected = component(expected), .bound = 2 * error.bound()};
}

void check_row(const MergeTrial& trial) {
  const auto& [a, b, c] = trial.row.parts;
  const auto& merge = trial.merge.merge;
  const SoftmaxState left = merge(merge(a, b), c);
  const SoftmaxState right = merge(a, merge(b, c));
  ElementPlace place = trial.row.place;
  place.tensor = ComparedTensor::kStateMaximum;
  trial.comparer.expect_within(place, {.seen = right.maximum, .expected = left.maximum});
  place.tensor = ComparedTensor::kStateSum;
  trial.comparer.expect_within(
      place, compared(trial, right, left, [](const SoftmaxState& state) { return state.sum; }));
  place.tensor = ComparedTensor::kStateWeighted;
  for (place.dim = 0; place.dim < left.weighted.size(); ++place.dim)
    trial.comparer.expect_within(
        place, compared(trial, right, left,
                        [&](const SoftmaxState& state) { return state.weighted[place.dim]; }));
}

}  // namespace

Law merge_associativity_law() {
  return {.name = "merge_associativity",
          .statement = "merging is associative within the bound",
          .why_not_applicable = why_no_states,
          .check =
              [](const Backend& backend, const LawCase& law_case, BoundKind) {
                return check_merges(backend, law_case, "merged in the other order", check_row);
              },
          .why_never = why_no_merge};
}

}  // namespace recto::verify
