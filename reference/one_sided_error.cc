#include "reference/one_sided_error.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "reference/coherence.h"
#include "reference/rounding.h"

namespace recto::reference {
namespace {

std::span<const double> values_of(const Vector& vector) {
  return {vector.data(), static_cast<std::size_t>(vector.size())};
}

// The number of weights that are equal once stored, assuming that the kernel's maximum is the
// row's.
double stored_alike(const Vector& weights, const KernelNumerics& numerics) {
  const ElementType type = numerics.weight_type.value_or(ElementType::kFp32);
  const Vector stored = weights.unaryExpr([type](double weight) { return round_to(weight, type); });
  return static_cast<double>(multiplicity(values_of(stored)));
}

// In roundoffs of the whole sum. Half a unit in the last place of a partial sum is at most one
// roundoff; a larger term may be rounded up by as much as its own size.
constexpr double kSwampedBelow = 2;

// The sum of a stretch of consecutive terms, even of one, is the difference of two partial sums
// from the start. If the order of terms is unknown, so are their partial sums.
SummedTerms summed_terms(const Vector& terms, const KernelNumerics& numerics) {
  SummedTerms summed;
  double sum = 0;
  double signs = 0;
  for (const double term : terms) {
    sum += term;
    signs += term > 0 ? 1 : term < 0 ? -1 : 0;
    summed.magnitudes += std::abs(term);
    summed.partial_sums = std::max(summed.partial_sums, 2 * std::abs(sum));
    summed.net_terms = std::max(summed.net_terms, 2 * std::abs(signs));
  }
  const bool is_in_order =
      numerics.tile_order == TileOrder::kConsecutive && numerics.output_sum.lanes == 1;
  if (!is_in_order) summed.partial_sums = summed.magnitudes;
  summed.partial_sums = std::min(summed.partial_sums, summed.magnitudes);
  const auto all = static_cast<double>(terms.size());
  summed.net_terms = is_in_order ? std::min(summed.net_terms, all) : all;
  return summed;
}

// The one-directional loss of a sum: terms too small to change it, and terms that differ by less
// than a partial sum's last place, which are all rounded in one direction. For truncation,
// probabilistic_sum_error() charges the mean, half a unit per term; this function adds the rest.
double loss_of(const Vector& terms, const SummedTerms& summed, const Accumulation& sum) {
  const auto magnitudes = terms.cwiseAbs().array();
  const double limit = kSwampedBelow * sum.unit_roundoff * summed.partial_sums;
  double drift = rounding_drift(values_of(terms), sum);
  if (sum.rounding == AccumulatorRounding::kTruncate) {
    drift = std::max(0.0, drift - summed.net_terms * sum.unit_roundoff * summed.partial_sums);
  }
  return (magnitudes <= limit).select(magnitudes, 0).sum() + drift;
}

}  // namespace

Vector value_coherence(const Matrix& values) {
  Vector coherence(values.cols());
  for (std::int64_t dim = 0; dim < values.cols(); ++dim)
    coherence[dim] = static_cast<double>(multiplicity(values_of(values.col(dim))));
  return coherence;
}

OneSidedErrors one_sided_errors(const RowProblem& row, const WeightErrors& weights,
                                const KernelNumerics& numerics) {
  const std::int64_t n = row.values.rows();
  const std::int64_t head_dim = row.values.cols();
  const Vector unnormalised = weights.weights.head(n) * weights.denominator;
  const Eigen::RowVectorXd second_moment =
      weights.weights.head(n).transpose() * row.values.cwiseAbs2();
  OneSidedErrors errors;
  errors.stored_weights = stored_alike(unnormalised, numerics);
  errors.products.resize(head_dim);
  errors.rounded_products.resize(head_dim);
  errors.product_loss.resize(head_dim);
  for (std::int64_t dim = 0; dim < head_dim; ++dim) {
    const double values = row.value_coherence[dim];
    // Products are equal as often as both factors are, if the factors are independent.
    const double both = errors.stored_weights * values / static_cast<double>(n);
    errors.products[dim] =
        std::max({1.0, std::min(weights.coherence, values), std::min(both, values)});
    // Weights of one rounding cell may all be rounded in one direction: these errors average out
    // only as far as the values do.
    const double one_sided =
        second_moment[dim] > 0 ? row.out[dim] * row.out[dim] / second_moment[dim] : 1.0;
    errors.rounded_products[dim] =
        std::max(errors.products[dim], 1 + (errors.stored_weights - 1) * std::min(one_sided, 1.0));
    const Vector terms = unnormalised.cwiseProduct(row.values.col(dim));
    SummedTerms summed = summed_terms(terms, numerics);
    errors.product_loss[dim] = loss_of(terms, summed, numerics.output_sum) / weights.denominator;
    summed.magnitudes /= weights.denominator;
    summed.partial_sums /= weights.denominator;
    errors.summed_products.push_back(summed);
  }
  const double sum = unnormalised.sum();
  const SummedTerms summed_weights{sum, sum, static_cast<double>(n)};
  errors.weight_loss =
      loss_of(unnormalised, summed_weights, numerics.weight_sum) / weights.denominator;
  return errors;
}

}  // namespace recto::reference
