#include "reference/online_softmax.h"

#include <algorithm>
#include <cmath>

#include "core/contract.h"

namespace recto::reference {
namespace {

// The factor by which a state shrinks when the maximum grows. A state without keys has no weight;
// exp(-inf - (-inf)) would be NaN.
double rescaling(double maximum, double new_maximum) {
  return maximum == new_maximum ? 1.0 : std::exp(maximum - new_maximum);
}

// NaN scores make the sum NaN, so they are not lost.
bool has_no_keys(const SoftmaxState& state) {
  return state.sum == 0 && state.maximum == -std::numeric_limits<double>::infinity();
}

// The larger number; +0 for two zeros, in either order (std::max returns the first of equal
// numbers).
double larger(double a, double b) {
  if (a == b) return std::signbit(a) ? b : a;
  return std::max(a, b);
}

}  // namespace

SoftmaxState SoftmaxState::identity(std::int64_t head_dim_v) {
  SoftmaxState state;
  state.weighted = Vector::Zero(head_dim_v);
  return state;
}

SoftmaxState merge(const SoftmaxState& a, const SoftmaxState& b) {
  RECTO_CHECK_EQ(a.weighted.size(), b.weighted.size());
  // Adding 0 would turn -0, a possible o after an underflow, into +0.
  if (has_no_keys(b)) return a;
  if (has_no_keys(a)) return b;
  SoftmaxState merged;
  merged.maximum = larger(a.maximum, b.maximum);
  const double scale_a = rescaling(a.maximum, merged.maximum);
  const double scale_b = rescaling(b.maximum, merged.maximum);
  merged.sum = a.sum * scale_a + b.sum * scale_b;
  merged.weighted = a.weighted * scale_a + b.weighted * scale_b;
  return merged;
}

SoftmaxState tile_state(const Vector& scores, const Eigen::Ref<const Matrix>& values) {
  RECTO_CHECK_EQ(scores.size(), values.rows());
  SoftmaxState state = SoftmaxState::identity(values.cols());
  if (scores.size() == 0) return state;
  state.maximum = scores.maxCoeff();
  const Vector weights = scores.unaryExpr(
      [maximum = state.maximum](double score) { return std::exp(score - maximum); });
  state.sum = weights.sum();
  state.weighted = values.transpose() * weights;
  return state;
}

RowOutput finish(const SoftmaxState& state, std::optional<double> sink) {
  const double sink_score = sink.value_or(-std::numeric_limits<double>::infinity());
  const double shift = std::max(state.maximum, sink_score);
  if (state.sum == 0) return {Vector::Zero(state.weighted.size()), sink_score};
  const double scale = rescaling(state.maximum, shift);
  const double denominator = state.sum * scale + std::exp(sink_score - shift);
  return {state.weighted * scale / denominator, shift + std::log(denominator)};
}

HeadOutput online_attention(const HeadInputs& inputs, const HeadOptions& options,
                            std::int64_t tile_size) {
  RECTO_CHECK_GT(tile_size, 0);
  HeadOutput result{Matrix(inputs.q.rows(), inputs.v.cols()), Vector(inputs.q.rows())};
  for (std::int64_t row = 0; row < inputs.q.rows(); ++row) {
    const KeyRange keys = visible_keys(options, row, inputs.q.rows(), inputs.k.rows());
    const std::int64_t position = position_of(row, inputs.q.rows(), inputs.k.rows());
    SoftmaxState state = SoftmaxState::identity(inputs.v.cols());
    for (std::int64_t first = 0; first < keys.size(); first += tile_size) {
      const std::int64_t count = std::min(tile_size, keys.size() - first);
      const std::int64_t begin = keys.begin + first;
      const Vector scores = score_keys(inputs.q.row(row), inputs.k.middleRows(begin, count),
                                       options, begin - position);
      state = merge(state, tile_state(scores, inputs.v.middleRows(begin, count)));
    }
    const RowOutput finished = finish(state, options.sink);
    result.out.row(row) = finished.out.transpose();
    result.lse_ln[row] = finished.lse_ln;
  }
  return result;
}

}  // namespace recto::reference
