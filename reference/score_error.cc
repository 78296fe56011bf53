#include "reference/score_error.h"

#include <algorithm>
#include <cmath>

#include "reference/accumulation.h"
#include "reference/coherence.h"

namespace recto::reference {
namespace {

// A score as it passes through scale, softcap and bias, with its errors.
struct Score {
  double value = 0.0;
  double worst_case = 0.0;
  double systematic = 0.0;  // does not average out
  double variance = 0.0;    // square of the deviation
  double common = 0.0;

  // `count` roundings to nearest of a number as large as `magnitude`.
  void round(double magnitude, double count, double unit) {
    worst_case += compound(unit, count) * (magnitude + worst_case);
    variance += count * (unit * magnitude) * (unit * magnitude);
  }
};

// Operations on a score after its sum: scaling, the bias and its addition, the change to base 2,
// the subtraction of the maximum.
constexpr double kOperations = 5;

struct ScaledProduct {
  double value = 0.0;       // scale q.k
  double magnitudes = 0.0;  // |scale| sum |q_d k_d|
  double unread = 0.0;      // possible loss from reading subnormal inputs
  double underflow = 0.0;   // possible loss of the sum to underflow, scaled
  double coherence = 1.0;   // number of equal products
};

Score score_of(const ScaledProduct& product, std::int64_t head_dim,
               const KernelNumerics& numerics) {
  const SumError sum = sum_error(numerics.score_sum, head_dim, product.coherence, 0);
  const double magnitudes = product.magnitudes;
  // The possible error of each term from reading K and q, as one factor.
  const double read = (1 + numerics.kv_read) * (1 + numerics.query_read) - 1;
  Score score;
  const double lost = product.unread + product.underflow;
  score.value = product.value;
  score.worst_case = magnitudes * ((1 + sum.worst_case) * (1 + read) - 1) + lost;
  score.systematic = magnitudes * (sum.bias + read) + lost;
  score.variance = std::pow(magnitudes * sum.deviation, 2);
  score.round(std::abs(product.value), numerics.score_roundings, numerics.unit_roundoff);
  score.common = product.value;
  return score;
}

void apply_softcap(Score& score, double cap, const KernelNumerics& numerics) {
  const double unit = numerics.unit_roundoff;
  score.round(std::abs(score.value), numerics.softcap_roundings, unit);
  const double capped = std::tanh(score.value / cap) * cap;
  // The steepest slope of tanh within the error: an argument's error shrinks at least by this
  // factor.
  const double reach = score.worst_case + numerics.shared_scale * std::abs(score.value);
  const double nearest_zero = std::max(std::abs(score.value) - reach, 0.0);
  const double slope = std::pow(std::cosh(std::min(nearest_zero / cap, 300.0)), -2);
  // The effect of a scale error depends on the score, so there is no common shift. A quotient that
  // underflows is off by that amount, times the cap.
  const double own = numerics.tanh_relative * (std::abs(capped) + score.worst_case * slope) +
                     numerics.shared_scale * (std::abs(score.value) * slope + std::abs(capped)) +
                     numerics.underflow * (cap + 1);
  score.value = capped;
  score.common = 0;
  score.worst_case = score.worst_case * slope + own;
  score.systematic = score.systematic * slope + own;
  score.variance *= slope * slope;
  score.round(std::abs(capped), numerics.softcap_roundings, unit);
}

void add_alibi(Score& score, double bias, const KernelNumerics& numerics) {
  const double unit = numerics.unit_roundoff;
  score.round(std::abs(bias), numerics.bias_roundings, unit);
  score.worst_case += numerics.shared_scale * std::abs(bias);  // the slope is scaled as well
  score.systematic += numerics.shared_scale * std::abs(bias);
  score.value += bias;
  score.round(std::abs(score.value), 1, unit);
}

std::span<const double> values_of(const Vector& vector) {
  return {vector.data(), static_cast<std::size_t>(vector.size())};
}

}  // namespace

Vector key_coherence(const Eigen::Ref<const Matrix>& keys) {
  Vector coherence(keys.rows());
  for (std::int64_t key = 0; key < keys.rows(); ++key) {
    coherence[key] = static_cast<double>(multiplicity(values_of(keys.row(key).transpose())));
  }
  return coherence;
}

ScoreErrors score_errors(const Eigen::Ref<const Eigen::RowVectorXd>& q, const KeyRows& rows,
                         const HeadOptions& options, const KernelNumerics& numerics) {
  const std::int64_t n = rows.keys.rows();
  const std::int64_t head_dim = rows.keys.cols();
  ScoreErrors errors{Vector(n), Vector(n), Vector(n), Vector(n), Vector(n)};
  const Vector products = options.scale * (rows.keys * q.transpose());
  const Vector magnitudes =
      std::abs(options.scale) * (rows.keys.cwiseAbs() * q.cwiseAbs().transpose());
  // Products are equal as often as both factors are, if the factors are independent.
  const double q_coherence =
      static_cast<double>(multiplicity(values_of(q.transpose()))) / static_cast<double>(head_dim);
  const double scale = std::abs(options.scale);
  const double q_sum = q.cwiseAbs().sum();
  const double kv_underflow =
      numerics.kv_read > 0 ? numerics.underflow + numerics.kv_read_underflow : 0;
  const double query_underflow = numerics.query_read > 0 ? numerics.underflow : 0;
  for (std::int64_t key = 0; key < n; ++key) {
    const double k_sum = rows.keys.row(key).cwiseAbs().sum();
    const ScaledProduct product{
        .value = products[key],
        .magnitudes = magnitudes[key],
        .unread = scale * (q_sum * (numerics.input_flush + kv_underflow) +
                           k_sum * (numerics.input_flush + query_underflow)),
        .underflow = (scale * static_cast<double>(2 * head_dim) + kOperations) * numerics.underflow,
        .coherence = std::max(1.0, q_coherence * rows.coherence[key])};
    Score score = score_of(product, head_dim, numerics);
    if (options.softcap > 0) apply_softcap(score, options.softcap, numerics);
    if (options.alibi_slope != 0) {
      add_alibi(score, options.alibi_slope * static_cast<double>(rows.first_distance + key),
                numerics);
    }
    errors.scores[key] = score.value;
    errors.worst_case[key] = score.worst_case;
    errors.deviation[key] = std::sqrt(score.variance);
    errors.systematic[key] = score.systematic;
    errors.common[key] = score.common;
  }
  return errors;
}

}  // namespace recto::reference
