#include "verify/engine/attention_flow.h"

#include <cmath>

#include "reference/error_bound.h"

namespace recto::verify {
namespace {

using reference::Matrix;
using reference::Vector;

struct Head {
  Matrix q, k, v;     // [tokens, head_dim]
  Matrix dq, dk, dv;  // deviations, likewise
};

// One row's variance due to the errors of what it reads: its own q, and the keys and values up to
// it.
Eigen::RowVectorXd read_variance(const Head& head, std::int64_t row, double scale,
                                 const Eigen::RowVectorXd& out) {
  const std::int64_t n = row + 1;
  const auto keys = head.k.topRows(n);
  Vector weights = keys * head.q.row(row).transpose() * scale;
  weights = (weights.array() - weights.maxCoeff()).exp().matrix();
  weights /= weights.sum();
  const Vector squares = weights.cwiseAbs2();
  // d out = sum_j p_j (v_j - out) ds_j + sum_j p_j dv_j
  const Matrix centred = head.v.topRows(n).rowwise() - out;
  const Vector score_variance =
      scale * scale * head.dk.topRows(n).cwiseAbs2() * head.q.row(row).cwiseAbs2().transpose();
  Eigen::RowVectorXd variance =
      squares.cwiseProduct(score_variance).transpose() * centred.cwiseAbs2();
  variance += squares.transpose() * head.dv.topRows(n).cwiseAbs2();
  // An error of q moves all scores at once.
  const Matrix by_q = scale * keys.transpose() * weights.asDiagonal() * centred;  // [dim, dim]
  variance += head.dq.row(row).cwiseAbs2() * by_q.cwiseAbs2();
  return variance;
}

Matrix kernel_variance(const Head& head, const reference::HeadOptions& options,
                       const reference::HeadOutput& exact,
                       const std::vector<reference::KernelNumerics>& kernels) {
  Matrix worst = Matrix::Zero(exact.out.rows(), exact.out.cols());
  for (const reference::KernelNumerics& numerics : kernels) {
    const reference::HeadErrorModel model(head.k, head.v, numerics);
    worst = worst.cwiseMax(model.bound(head.q, options, exact).sharp / reference::kSharpLambda);
  }
  return worst.cwiseAbs2();
}

}  // namespace

float attention_scale(const ModelShape& shape) {
  return static_cast<float>(1 / std::sqrt(static_cast<double>(shape.head_dim)));
}

Flow attention_flow(const AttentionFlows& inputs, const ModelShape& shape,
                    const std::vector<reference::KernelNumerics>& kernels) {
  const std::int64_t dim = shape.head_dim;
  const std::int64_t group = shape.num_q_heads / shape.num_kv_heads;
  const bool is_followed = inputs.q.is_followed();
  const reference::HeadOptions options{.scale = attention_scale(shape)};
  Flow result{Matrix(inputs.q.value.rows(), shape.q_size()), {}};
  if (is_followed) result.deviation = result.value;
  for (std::int64_t q_head = 0; q_head < shape.num_q_heads; ++q_head) {
    const std::int64_t at = q_head * dim;
    const std::int64_t kv_at = q_head / group * dim;
    Head head{inputs.q.value.middleCols(at, dim),
              inputs.k.value.middleCols(kv_at, dim),
              inputs.v.value.middleCols(kv_at, dim),
              {},
              {},
              {}};
    const reference::HeadOutput exact =
        reference::dense_attention({head.q, head.k, head.v}, options);
    result.value.middleCols(at, dim) = exact.out;
    if (!is_followed) continue;
    head.dq = inputs.q.deviation.middleCols(at, dim);
    head.dk = inputs.k.deviation.middleCols(kv_at, dim);
    head.dv = inputs.v.deviation.middleCols(kv_at, dim);
    Matrix variance = kernel_variance(head, options, exact, kernels);
    const bool reads_exactly =
        head.dq.maxCoeff() == 0 && head.dk.maxCoeff() == 0 && head.dv.maxCoeff() == 0;
    for (std::int64_t row = 0; row < variance.rows() && !reads_exactly; ++row) {
      variance.row(row) += read_variance(head, row, options.scale, exact.out.row(row));
    }
    result.deviation.middleCols(at, dim) = variance.cwiseSqrt();
  }
  return result;
}

}  // namespace recto::verify
