#include "reference/weight_error.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/accumulation.h"
#include "reference/coherence.h"
#include "reference/rescalings.h"

namespace recto::reference {
namespace {

// Errors of the logarithm of one weight.
struct LogError {
  double worst_case = 0.0;
  double systematic = 0.0;
  double variance = 0.0;
};

// weight * expm1(error), without overflow where the weight is tiny.
double moved(double distance, double error) {
  const double weight = std::exp(-distance);
  return error < 1 ? weight * std::expm1(error)
                   : std::exp(std::min(error - distance, 700.0)) - weight;
}

// Errors that all keys of a row share.
class RowErrors {
 public:
  RowErrors(const ScoreErrors& scores, const WeightErrors& row, const KernelNumerics& numerics)
      : numerics_(numerics), magnitude_(row.largest_magnitude) {
    const auto rescalings = static_cast<double>(row.rescalings);
    exponentials_ = rescalings + 1;
    if (scores.worst_case.size() > 0) {
      largest_error_ = scores.worst_case.maxCoeff();
      Eigen::Index largest = 0;
      scores.scores.maxCoeff(&largest);
      common_ = scores.common[largest];
    }
    if (numerics.split_merge == SplitMerge::kNormalised) {
      const double log_sum = std::log(static_cast<double>(scores.scores.size()) + 1);
      split_ = (1 + numerics.lse_ln_roundings) * numerics.unit_roundoff *
                   (magnitude_ + largest_error_ + log_sum) +
               numerics.log_relative * log_sum + numerics.log_absolute +
               numerics.exponential.relative + numerics.exponential.relative_slope * log_sum;
    }
  }

  // The error for a key `distance` below the largest score.
  LogError exponential(double distance) const {
    const double unit = numerics_.unit_roundoff;
    const ExponentialError& exponential = numerics_.exponential;
    const double argument = distance + 2 * largest_error_;
    const double slope = exponential.relative_slope * argument;
    const double relative = exponentials_ * exponential.relative + slope;
    const double rounding = unit * (magnitude_ + largest_error_);
    LogError error;
    error.worst_case = unit * argument + numerics_.argument_roundings * rounding * exponentials_ +
                       relative / (1 - std::min(relative, 0.5)) + split_;
    error.systematic = relative + split_;
    error.variance =
        std::pow(unit * argument, 2) + numerics_.argument_roundings * std::pow(rounding, 2);
    return error;
  }

  // The shift of a key from a scale error, without and with the shift of the largest score.
  double uncommon_shift(double common) const {
    return numerics_.shared_scale * std::abs(common - common_);
  }
  double whole_shift(double common) const { return numerics_.shared_scale * std::abs(common); }

  double rescaling_deviation() const {
    return std::sqrt((exponentials_ - 1) * numerics_.argument_roundings) * numerics_.unit_roundoff *
           magnitude_;
  }
  double split_error() const { return split_; }

 private:
  const KernelNumerics& numerics_;
  double magnitude_;
  double exponentials_ = 1;  // number of exponentials in the product that forms a weight
  double largest_error_ = 0;
  double common_ = 0;
  double split_ = 0;
};

// Errors of one key, or of the sink.
struct KeyError {
  double distance = 0.0;  // below the largest score
  LogError log;
  double uncommon = 0.0;  // shift relative to the other keys
  double whole = 0.0;     // shift including the common part, which affects the sum only
};

// The error of the sum of all weights before normalisation.
struct SumOfErrors {
  double worst_case = 0.0;
  double systematic = 0.0;
  double variance = 0.0;
};

KeyError key_error(const RowErrors& shared, const ScoreErrors& scores, std::int64_t key,
                   double distance) {
  const double common = scores.common[key];
  KeyError error{distance, shared.exponential(distance), shared.uncommon_shift(common),
                 shared.whole_shift(common)};
  error.log.worst_case += scores.worst_case[key];
  error.log.systematic += scores.systematic[key];
  error.log.variance += std::pow(scores.deviation[key], 2);
  return error;
}

// Kernels whose maximum excludes the sink compute exp(sink - m) for arguments of any sign.
KeyError sink_error(const RowErrors& shared, double distance, double argument, double sink) {
  return {distance, shared.exponential(argument),
          shared.uncommon_shift(0) + shared.whole_shift(sink), shared.whole_shift(sink)};
}

void record(std::int64_t key, const KeyError& error, const KernelNumerics& numerics,
            WeightErrors& row, SumOfErrors& sum) {
  const double weight = std::exp(-error.distance);
  const double deviation = std::sqrt(error.log.variance);
  const double first_order = error.log.systematic + error.uncommon;
  const double typical = first_order + kProbabilisticLambda * (deviation + row.rescaling_deviation);
  const double second_order = moved(error.distance, typical) - weight * typical;
  row.weights[key] = weight;
  // The key's own shift also increases the argument.
  const double worst_case = error.log.worst_case + error.uncommon * (1 + numerics.unit_roundoff);
  row.worst_case[key] = moved(error.distance, worst_case);
  row.systematic[key] = weight * first_order + second_order;
  row.deviation[key] = weight * deviation;
  // No factor of a weight is smaller than the weight. So only a tiny weight can have been flushed,
  // or rounded below the normal range, where flush / u is at least the smallest normal number.
  if (weight <= numerics.exponential.flush / numerics.unit_roundoff + row.worst_case[key]) {
    row.vanished[key] = std::min(numerics.exponential.flush, weight + row.worst_case[key]);
  }
  sum.worst_case += moved(error.distance, error.log.worst_case + error.whole) + row.vanished[key];
  sum.systematic +=
      weight * (error.log.systematic + error.whole) + second_order + row.vanished[key];
  sum.variance += deviation * deviation * weight * weight;
}

void normalise(const SumOfErrors& sum, WeightErrors& row) {
  row.denominator = row.weights.sum();
  for (Vector* part :
       {&row.weights, &row.worst_case, &row.systematic, &row.deviation, &row.vanished}) {
    *part /= row.denominator;
  }
  row.sum_worst_case = sum.worst_case / row.denominator;
  row.sum_probabilistic =
      (sum.systematic + kProbabilisticLambda * std::sqrt(row.coherence * sum.variance)) /
          row.denominator +
      kProbabilisticLambda * row.rescaling_deviation;
}

}  // namespace

WeightErrors weight_errors(const ScoreErrors& scores, const HeadOptions& options,
                           const KernelNumerics& numerics) {
  const std::int64_t n = scores.scores.size();
  WeightErrors row;
  for (Vector* part :
       {&row.weights, &row.worst_case, &row.systematic, &row.deviation, &row.vanished}) {
    *part = Vector::Zero(n + 1);
  }
  const double sink = options.sink.value_or(-std::numeric_limits<double>::infinity());
  row.largest = std::max(scores.scores.maxCoeff(), sink);
  row.largest_magnitude = scores.scores.cwiseAbs().maxCoeff();
  if (std::isfinite(sink)) row.largest_magnitude = std::max(row.largest_magnitude, std::abs(sink));
  // Including the sink costs one more rescaling.
  row.rescalings = rescalings(scores.scores, numerics) + (options.sink ? 1 : 0);
  row.coherence =
      static_cast<double>(multiplicity({scores.scores.data(), static_cast<std::size_t>(n)}));
  const RowErrors shared(scores, row, numerics);
  row.rescaling_deviation = shared.rescaling_deviation();
  SumOfErrors sum;
  for (std::int64_t key = 0; key < n; ++key) {
    record(key, key_error(shared, scores, key, row.largest - scores.scores[key]), numerics, row,
           sum);
  }
  if (std::isfinite(sink)) {
    const double argument = std::abs(sink - scores.scores.maxCoeff());
    record(n, sink_error(shared, row.largest - sink, argument, sink), numerics, row, sum);
  }
  row.split_error = shared.split_error();
  normalise(sum, row);
  return row;
}

}  // namespace recto::reference
