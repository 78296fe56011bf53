#include "reference/dense_attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/contract.h"

namespace recto::reference {

std::int64_t position_of(std::int64_t row, std::int64_t num_rows, std::int64_t context_length) {
  return context_length - num_rows + row;
}

KeyRange visible_keys(const HeadOptions& options, std::int64_t row, std::int64_t num_rows,
                      std::int64_t context_length) {
  const std::int64_t position = position_of(row, num_rows, context_length);
  KeyRange range{0, context_length};
  if (options.causal) range.end = std::clamp<std::int64_t>(position + 1, 0, context_length);
  if (options.window && *options.window <= position) range.begin = position - *options.window + 1;
  range.begin = std::min(range.begin, range.end);
  return range;
}

Vector score_keys(const Eigen::Ref<const Eigen::RowVectorXd>& q,
                  const Eigen::Ref<const Matrix>& keys, const HeadOptions& options,
                  std::int64_t first_distance) {
  Vector scores = keys * q.transpose();
  for (std::int64_t key = 0; key < scores.size(); ++key) {
    double& score = scores[key];
    score *= options.scale;
    if (options.softcap > 0) score = options.softcap * std::tanh(score / options.softcap);
    score += options.alibi_slope * static_cast<double>(first_distance + key);
  }
  return scores;
}

HeadOutput dense_attention(const HeadInputs& inputs, const HeadOptions& options) {
  RECTO_CHECK_EQ(inputs.q.cols(), inputs.k.cols());
  RECTO_CHECK_EQ(inputs.k.rows(), inputs.v.rows());
  HeadOutput result{Matrix::Zero(inputs.q.rows(), inputs.v.cols()), Vector(inputs.q.rows())};
  for (std::int64_t row = 0; row < inputs.q.rows(); ++row) {
    const KeyRange keys = visible_keys(options, row, inputs.q.rows(), inputs.k.rows());
    if (keys.size() == 0) {
      result.lse_ln[row] = options.sink.value_or(-std::numeric_limits<double>::infinity());
      continue;
    }
    const Vector scores =
        score_keys(inputs.q.row(row), inputs.k.middleRows(keys.begin, keys.size()), options,
                   keys.begin - position_of(row, inputs.q.rows(), inputs.k.rows()));
    // The weights do not depend on the shift; subtracting the largest score avoids overflow.
    double shift = scores.maxCoeff();
    if (options.sink) shift = std::max(shift, *options.sink);
    const Vector weights =
        scores.unaryExpr([shift](double score) { return std::exp(score - shift); });
    double denominator = weights.sum();
    if (options.sink) denominator += std::exp(*options.sink - shift);
    result.out.row(row) = weights.transpose() * inputs.v.middleRows(keys.begin, keys.size());
    result.out.row(row) /= denominator;
    result.lse_ln[row] = shift + std::log(denominator);
  }
  return result;
}

}  // namespace recto::reference
