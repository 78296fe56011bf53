#include "verify/engine/rounding_flow.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/contract.h"
#include "reference/rotary.h"

namespace recto::verify {
namespace {

using reference::Matrix;
using reference::Vector;

// fp64 sums of the sizes that occur here differ by less than this between orders, relative to their
// terms.
constexpr double kOrderError = 1e-14;

// Adds what the order of fp64 sums may do to numbers about as large as the largest in `value`'s
// row.
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

// y_i = g_i r x_i with r = 1 / sqrt(mean(x^2) + epsilon), so that
// dy_i = g_i r (dx_i - x_i r^2 mean(x dx)): its own error, and the one that all have in common.
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
  // The variances of a rotated pair lie between those of the pair before: the larger one is charged
  // to both.
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

Flow store(const Flow& x, const Store& how) {
  Flow result{x.value.unaryExpr(how.round), {}};
  if (!x.is_followed()) return result;
  result.deviation = Matrix::Zero(x.value.rows(), x.value.cols());
  for (std::int64_t i = 0; i < x.value.size(); ++i) {
    const double value = x.value.data()[i];
    const double deviation = x.deviation.data()[i];
    const double reach = kFlowLambda * deviation;
    const double rounded = result.value.data()[i];
    const double low = how.round(value - reach);
    const double high = how.round(value + reach);
    if (low == rounded && high == rounded) continue;
    const double largest = std::max(high - rounded, rounded - low);
    result.deviation.data()[i] = std::min(largest, std::hypot(deviation, how.step(value)));
  }
  return result;
}

}  // namespace recto::verify
