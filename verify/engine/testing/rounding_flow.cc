#include "verify/engine/testing/rounding_flow.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/contract.h"
#include "reference/error_bound.h"
#include "reference/rotary.h"
#include "reference/rounding.h"

namespace recto::verify {
namespace {

using reference::Matrix;
using reference::Vector;

// Bound on the difference between fp64 sums in different orders, relative to their terms. It holds
// for the sizes that occur here.
constexpr double kOrderError = 1e-14;

// Adds the effect of the order of fp64 sums on numbers as large as the largest in `value`'s row.
Matrix with_order_error(Matrix deviation, const Matrix& value) {
  for (std::int64_t row = 0; row < value.rows(); ++row) {
    const double floor = kOrderError * value.row(row).cwiseAbs().maxCoeff();
    deviation.row(row) = deviation.row(row).cwiseMax(floor);
  }
  return deviation;
}

double silu(double x) { return x / (1 + std::exp(-x)); }

double silu_slope(double x) {
  const double sigmoid = 1 / (1 + std::exp(-x));
  return sigmoid * (1 + x * (1 - sigmoid));
}

double rounded(double value, ElementType type, float scale) {
  if (!is_fp8(type)) return reference::round_to(value, type);
  const std::uint32_t code = reference::encode_fp8(static_cast<float>(value), scale, type);
  return reference::decode(code, type) * scale;
}

// The largest distance to a neighbour: 2 u, relative to the number or to the smallest normal one.
double step_of(double value, ElementType type, float scale) {
  return 2 * reference::unit_roundoff(type) * std::abs(value) +
         2 * scale * reference::underflow_error(type);
}

struct Head {
  Matrix q, k, v;     // [tokens, head_dim]
  Matrix dq, dk, dv;  // deviations, likewise
};

// The variance of one row's output due to errors in its q, and in the keys and values up to the
// row.
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
  // An error of q changes all scores together.
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
    worst = worst.cwiseMax(model.bound(head.q, options, exact).probabilistic /
                           reference::kProbabilisticLambda);
  }
  return worst.cwiseAbs2();
}

}  // namespace

Flow exact_flow(Matrix value, Following following) {
  Flow flow{std::move(value), {}};
  if (following == Following::kYes) {
    flow.deviation =
        with_order_error(Matrix::Zero(flow.value.rows(), flow.value.cols()), flow.value);
  }
  return flow;
}

Flow linear(const Flow& x, const Matrix& weights) {
  Flow result{x.value * weights.transpose(), {}};
  if (!x.is_followed()) return result;
  const Matrix variance = x.deviation.cwiseAbs2() * weights.cwiseAbs2().transpose();
  result.deviation = with_order_error(variance.cwiseSqrt(), result.value);
  return result;
}

// y_i = g_i r x_i with r = 1 / sqrt(mean(x^2) + epsilon), so dy_i = g_i r (dx_i - x_i r^2 mean(x
// dx)): an error of its own, and one that all numbers share.
Flow rms_norm(const Flow& x, const Vector& gains, double epsilon) {
  const std::int64_t size = gains.size();
  RECTO_CHECK_EQ(x.value.cols() % size, 0);
  Flow result{Matrix(x.value.rows(), x.value.cols()), {}};
  if (x.is_followed()) result.deviation = result.value;
  for (std::int64_t row = 0; row < x.value.rows(); ++row) {
    for (std::int64_t begin = 0; begin < x.value.cols(); begin += size) {
      const auto values = x.value.row(row).segment(begin, size).array();
      const double r = 1 / std::sqrt(values.square().mean() + epsilon);
      const auto scaled = gains.transpose().array() * r;
      result.value.row(row).segment(begin, size) = values * scaled;
      if (!x.is_followed()) continue;
      const auto deviations = x.deviation.row(row).segment(begin, size).array();
      const double common =
          std::sqrt((values * deviations).square().sum()) / static_cast<double>(size) * r * r;
      result.deviation.row(row).segment(begin, size) =
          scaled.abs() * (deviations + values.abs() * common);
    }
  }
  if (x.is_followed()) {
    result.deviation = with_order_error(std::move(result.deviation), result.value);
  }
  return result;
}

Flow add(const Flow& a, const Flow& b) {
  Flow result{a.value + b.value, {}};
  if (!a.is_followed()) return result;
  result.deviation = (a.deviation.cwiseAbs2() + b.deviation.cwiseAbs2()).cwiseSqrt();
  return result;
}

Flow swiglu(const Flow& gate, const Flow& up) {
  Flow result{gate.value.unaryExpr(&silu).cwiseProduct(up.value), {}};
  if (!gate.is_followed()) return result;
  const Matrix by_gate =
      gate.value.unaryExpr(&silu_slope).cwiseProduct(up.value).cwiseProduct(gate.deviation);
  const Matrix by_up = gate.value.unaryExpr(&silu).cwiseProduct(up.deviation);
  result.deviation =
      with_order_error((by_gate.cwiseAbs2() + by_up.cwiseAbs2()).cwiseSqrt(), result.value);
  return result;
}

Flow rotate_heads(const Flow& x, std::int64_t head_dim, double base) {
  const reference::RotaryOptions options{.rotary_dim = head_dim, .base = base};
  Flow result{Matrix(x.value.rows(), x.value.cols()), {}};
  for (std::int64_t begin = 0; begin < x.value.cols(); begin += head_dim) {
    result.value.middleCols(begin, head_dim) =
        reference::rotate(x.value.middleCols(begin, head_dim), 0, options);
  }
  if (!x.is_followed()) return result;
  // The variances of a rotated pair lie between those of the original pair; the larger one is
  // charged to both.
  result.deviation = x.deviation;
  const std::int64_t half = head_dim / 2;
  for (std::int64_t begin = 0; begin < x.value.cols(); begin += head_dim) {
    const Matrix larger =
        x.deviation.middleCols(begin, half).cwiseMax(x.deviation.middleCols(begin + half, half));
    result.deviation.middleCols(begin, half) = larger;
    result.deviation.middleCols(begin + half, half) = larger;
  }
  result.deviation = with_order_error(std::move(result.deviation), result.value);
  return result;
}

Flow store(const Flow& x, ElementType type, float scale) {
  const auto round = [type, scale](double value) { return rounded(value, type, scale); };
  Flow result{x.value.unaryExpr(round), {}};
  if (!x.is_followed()) return result;
  result.deviation = Matrix::Zero(x.value.rows(), x.value.cols());
  for (std::int64_t i = 0; i < x.value.size(); ++i) {
    const double value = x.value.data()[i];
    const double deviation = x.deviation.data()[i];
    const double reach = kFlowLambda * deviation;
    const double low = round(value - reach);
    const double high = round(value + reach);
    const double here = result.value.data()[i];
    if (low == here && high == here) continue;
    result.deviation.data()[i] = std::min(std::max(high - here, here - low),
                                          std::hypot(deviation, step_of(value, type, scale)));
  }
  return result;
}

Flow attention_flow(const AttentionFlows& inputs, const ModelShape& shape,
                    const std::vector<reference::KernelNumerics>& kernels) {
  const std::int64_t dim = shape.head_dim;
  const std::int64_t group = shape.num_q_heads / shape.num_kv_heads;
  const bool is_followed = inputs.q.is_followed();
  const reference::HeadOptions options{.scale = shape.attention_scale()};
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
