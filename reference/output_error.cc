#include "reference/output_error.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "core/units.h"
#include "reference/accumulation.h"
#include "reference/rounding.h"

namespace recto::reference {
namespace {

using Row = Eigen::RowVectorXd;

// The effect of weight errors on the output: the ratio (sum p (1 + d) v) / (sum p (1 + d)).
struct Perturbed {
  Row shift;       // [head_dim_v], largest distance from the exact output
  Row magnitudes;  // [head_dim_v], at least sum of computed weights times |v|
};

class OutputError {
 public:
  OutputError(const RowProblem& row, const WeightErrors& weights, const KernelNumerics& numerics)
      : row_(row),
        weights_(weights),
        numerics_(numerics),
        one_sided_(one_sided_errors(row, weights, numerics)),
        n_(row.values.rows()) {
    distances_.resize(n_ + 1, row.values.cols());
    distances_.topRows(n_) = (row.values.rowwise() - row.out).cwiseAbs();
    distances_.row(n_) = row.out.cwiseAbs();
    magnitudes_ = row.values.cwiseAbs();
    largest_ = magnitudes_.colwise().maxCoeff();
    hull_ = distances_.topRows(n_).colwise().maxCoeff();
    if (weights.weights[n_] > 0) hull_ = hull_.cwiseMax(distances_.row(n_));
    count_roundings();
  }

  Row worst_case() const {
    const double roundoff = weight_roundoff();
    Vector moved = weights_.worst_case + weights_.vanished;
    if (numerics_.summed_weights == SummedWeights::kRounded) {
      moved += roundoff * (weights_.weights + moved) + lost_weights(moved);
    }
    const Perturbed perturbed = perturb(moved, moved.transpose() * distances_, moved.sum());
    const SumError products = sum_error(numerics_.output_sum, output_terms_, 1, output_roundings_);
    double relative = (1 + products.worst_case) * (1 + numerics_.kv_read);
    relative *=
        (1 + roundoff_of(numerics_.product_type)) * (1 + roundoff_of(numerics_.partial_type));
    Row error = perturbed.shift;
    if (numerics_.summed_weights == SummedWeights::kUnrounded) {
      relative *= 1 + roundoff;
      error += lost_weights(moved).head(n_).transpose() * magnitudes_;
    }
    error += perturbed.magnitudes * (relative - 1);
    error.array() += underflow();
    const double sum_relative =
        sum_error(numerics_.weight_sum, weight_terms_, 1, weight_roundings_).worst_case;
    return rounded(divided(error, sum_relative / (1 - std::min(sum_relative, 0.5))));
  }

  Row probabilistic() const {
    const bool sums_rounded = numerics_.summed_weights == SummedWeights::kRounded;
    Vector moved = weights_.systematic + weights_.vanished;
    if (sums_rounded) moved += lost_weights(moved);
    // A rescaling moves all earlier keys together: at most half of the weight against the other
    // half.
    const Row together = weights_.weights.transpose() * distances_ / 2;
    const Vector rounding = weight_roundoff() * weights_.weights;
    Row shift = moved.transpose() * distances_ +
                kProbabilisticLambda * weights_.rescaling_deviation * together +
                random_sum(weights_.deviation, distances_, weights_.coherence);
    double sum_shift = moved.sum() + kProbabilisticLambda * (weights_.rescaling_deviation +
                                                             std::sqrt(weights_.coherence) *
                                                                 weights_.deviation.norm());
    if (sums_rounded) {
      shift += random_sum(rounding, distances_, one_sided_.products);
      sum_shift += kProbabilisticLambda * std::sqrt(one_sided_.stored_weights) * rounding.norm();
    }
    const Perturbed perturbed = perturb(moved, shift, sum_shift);
    Row error = perturbed.shift;
    if (!sums_rounded) {
      error += random_sum(rounding.head(n_), magnitudes_, one_sided_.rounded_products) +
               lost_weights(moved).head(n_).transpose() * magnitudes_;
    }
    if (numerics_.product_type) {
      error += random_sum(roundoff_of(numerics_.product_type) * weights_.weights.head(n_),
                          magnitudes_, one_sided_.rounded_products);
    }
    // A split's output may outweigh all others.
    error += roundoff_of(numerics_.partial_type) * perturbed.magnitudes;
    error += product_errors(perturbed.magnitudes);
    error += one_sided_.product_loss;
    error.array() += underflow();
    return rounded(divided(error, weight_sum_probabilistic()));
  }

  double lse_ln_worst_case() const {
    const double sum =
        sum_error(numerics_.weight_sum, weight_terms_, 1, weight_roundings_).worst_case;
    double weights = weights_.sum_worst_case;
    if (numerics_.summed_weights == SummedWeights::kRounded) {
      weights += weight_roundoff() * (1 + weights) + lost_weights(weights_.worst_case).sum();
    }
    return lse_ln_error(std::log1p(weights) + sum / (1 - std::min(sum, 0.5)));
  }

  double lse_ln_probabilistic() const {
    double weights = weights_.sum_probabilistic;
    if (numerics_.summed_weights == SummedWeights::kRounded) {
      weights += kProbabilisticLambda * weight_roundoff() * std::sqrt(one_sided_.stored_weights) *
                     weights_.weights.norm() +
                 lost_weights(weights_.systematic).sum();
    }
    return lse_ln_error(weights + weight_sum_probabilistic());
  }

 private:
  void count_roundings() {
    keys_per_pass_ = std::min(n_, numerics_.keys_per_split(n_));
    const std::int64_t splits = ceil_div(n_, std::max<std::int64_t>(1, keys_per_pass_));
    const std::int64_t tiles = ceil_div(keys_per_pass_, numerics_.tile_size) + 1;  // unaligned
    weight_terms_ = tiled_terms(numerics_.weight_sum, tiles);
    output_terms_ = tiled_terms(numerics_.output_sum, tiles);
    // Each tile's sum is added to the others; each rescaling and each merge multiplies; splits are
    // added.
    const std::int64_t joins =
        tiles + weights_.rescalings + 2 * numerics_.state_merges + (splits > 1 ? splits : 0);
    const std::int64_t partials =
        splits > 1 && numerics_.split_merge == SplitMerge::kNormalised ? 2 : 0;
    weight_roundings_ = static_cast<double>(joins + partials);
    output_roundings_ = weight_roundings_ + numerics_.normalisation_roundings;
  }

  // Terms of one pass, in which each tile begins a new step.
  std::int64_t tiled_terms(const Accumulation& sum, std::int64_t tiles) const {
    const std::int64_t step = sum.lanes * sum.terms_per_step;
    return std::min(keys_per_pass_ + tiles * (step - 1),
                    tiles * ceil_div(numerics_.tile_size, step) * step);
  }

  Perturbed perturb(const Vector& moved, const Row& shift, double sum_shift) const {
    // Whatever the weights are, the output is a weighted mean of the values.
    if (!(sum_shift < 1)) return {hull_, largest_};
    const Row magnitudes = (weights_.weights + moved).head(n_).transpose() * magnitudes_;
    return {(shift / (1 - sum_shift)).cwiseMin(hull_),
            (magnitudes / (1 - sum_shift)).cwiseMin(largest_)};
  }

  // lambda times the root of the sum of squared weights times factors; equal terms count together.
  template <typename Coherence>  // one number, or one per dim
  Row random_sum(const Vector& weights, const Matrix& factors, const Coherence& coherence) const {
    const Row squares = weights.cwiseAbs2().transpose() * factors.cwiseAbs2();
    if constexpr (std::is_same_v<Coherence, Row>) {
      return kProbabilisticLambda * squares.cwiseProduct(coherence).cwiseSqrt();
    } else {
      return kProbabilisticLambda * std::sqrt(coherence) * squares.cwiseSqrt();
    }
  }

  static double roundoff_of(const std::optional<ElementType>& type) {
    return type ? unit_roundoff(*type) : 0.0;
  }
  double weight_roundoff() const { return roundoff_of(numerics_.weight_type); }

  // The loss from rounding P where P is subnormal in its type.
  Vector lost_weights(const Vector& moved) const {
    Vector lost = Vector::Zero(n_ + 1);
    if (!numerics_.weight_type) return lost;
    const double step = underflow_error(*numerics_.weight_type);
    const double least_denominator = weights_.denominator * (1 - std::min(moved.sum(), 0.5));
    const double smallest_normal = step / weight_roundoff();
    for (std::int64_t key = 0; key < n_; ++key) {
      if ((weights_.weights[key] - moved[key]) * weights_.denominator < smallest_normal) {
        lost[key] = std::min(step / least_denominator, weights_.weights[key] + moved[key]);
      }
    }
    return lost;
  }

  // Errors of the sum of products, per dim, given the `magnitudes` with computed weights.
  Row product_errors(const Row& magnitudes) const {
    Row errors(magnitudes.size());
    for (std::int64_t dim = 0; dim < errors.size(); ++dim) {
      const SummedTerms& summed = one_sided_.summed_products[static_cast<std::size_t>(dim)];
      const SumError sum = sum_error(numerics_.output_sum, output_terms_, one_sided_.products[dim],
                                     output_roundings_);
      const double relative = probabilistic_sum_error(numerics_.output_sum, output_terms_, sum,
                                                      summed, kProbabilisticLambda);
      errors[dim] = (relative + numerics_.kv_read) * magnitudes[dim];
    }
    return errors;
  }

  // The probabilistic error of the sum of weights, relative to l.
  double weight_sum_probabilistic() const {
    const SumError sum =
        sum_error(numerics_.weight_sum, weight_terms_, weights_.coherence, weight_roundings_);
    return sum.bias + kProbabilisticLambda * sum.deviation + one_sided_.weight_loss;
  }

  // Flushing loses no key twice; without flushing, products and rescalings lose half as much each.
  // The 1 accounts for reading V, whose weights sum to 1.
  static double loss_of(const std::optional<ElementType>& type) {
    return type ? underflow_error(*type) : 0.0;
  }
  double underflow() const {
    return numerics_.underflow * (static_cast<double>(n_) + output_roundings_ + 1) +
           2 * (numerics_.input_flush + numerics_.kv_read_underflow) +
           static_cast<double>(n_) *
               (loss_of(numerics_.product_type) + loss_of(numerics_.partial_type));
  }

  // Parts weighted by exp(lse_k - lse) are not divided by the sum of these weights. So errors of
  // lse, its own and those of the parts, scale the output.
  Row divided(const Row& error, double relative) const {
    const double whole = (1 + relative) * std::exp(2 * weights_.split_error) - 1;
    return error + whole * (row_.out.cwiseAbs() + error);
  }

  Row rounded(const Row& error) const {
    if (!numerics_.output_type) return error;
    const Row largest = row_.out.cwiseAbs() + error;
    Row whole = error + unit_roundoff(*numerics_.output_type) * largest;
    whole.array() += underflow_error(*numerics_.output_type);
    return whole;
  }

  double lse_ln_error(double sum_error) const {
    const double log_sum = std::log(weights_.denominator);
    const double unit = numerics_.unit_roundoff;
    double error =
        sum_error + numerics_.log_relative * (log_sum + sum_error) + numerics_.log_absolute;
    error += numerics_.lse_ln_roundings * unit *
             (std::max(std::abs(row_.lse_ln), weights_.largest_magnitude) + error);
    if (numerics_.output_type) error += 0x1p-24 * (std::abs(row_.lse_ln) + error);
    return error;
  }

  const RowProblem& row_;
  const WeightErrors& weights_;
  const KernelNumerics& numerics_;
  OneSidedErrors one_sided_;
  std::int64_t n_;
  Matrix distances_;   // [n + 1, head_dim_v], of each value, and of the sink's 0, from the output
  Matrix magnitudes_;  // [n, head_dim_v]
  Row largest_;        // [head_dim_v]
  Row hull_;           // [head_dim_v]
  std::int64_t keys_per_pass_ = 0;
  std::int64_t weight_terms_ = 0;
  std::int64_t output_terms_ = 0;
  double weight_roundings_ = 0;
  double output_roundings_ = 0;
};

}  // namespace

RowBound row_bound(const RowProblem& row, const WeightErrors& weights,
                   const KernelNumerics& numerics) {
  const OutputError error(row, weights, numerics);
  RowBound bound{error.worst_case(), error.probabilistic(), error.lse_ln_worst_case(),
                 error.lse_ln_probabilistic()};
  bound.probabilistic = bound.probabilistic.cwiseMin(bound.worst_case);
  bound.lse_ln_probabilistic = std::min(bound.lse_ln_probabilistic, bound.lse_ln_worst_case);
  return bound;
}

}  // namespace recto::reference
