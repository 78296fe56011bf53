#include "verify/engine/host_model.h"

#include <cmath>

namespace recto::verify {
namespace {

using reference::Matrix;
using reference::Vector;

// to[row] += weights * from[row]
void add_product(const Matrix& weights, const double* from, double* to) {
  for (std::int64_t output = 0; output < weights.rows(); ++output) {
    double sum = 0;
    for (std::int64_t input = 0; input < weights.cols(); ++input) {
      sum += weights(output, input) * from[input];
    }
    to[output] += sum;
  }
}

void norm_in_place(const Vector& gains, double epsilon, double* values) {
  double squares = 0;
  for (std::int64_t i = 0; i < gains.size(); ++i) squares += values[i] * values[i];
  const double root = std::sqrt(squares / static_cast<double>(gains.size()) + epsilon);
  for (std::int64_t i = 0; i < gains.size(); ++i) values[i] *= gains[i] / root;
}

void rotate_in_place(const ModelShape& shape, std::int64_t position, double* head) {
  const std::int64_t half = shape.head_dim / 2;
  for (std::int64_t pair = 0; pair < half; ++pair) {
    const double exponent = -2.0 * static_cast<double>(pair) / static_cast<double>(shape.head_dim);
    const double angle = static_cast<double>(position) * std::pow(shape.rotary_base, exponent);
    const double a = head[pair];
    const double b = head[pair + half];
    head[pair] = a * std::cos(angle) - b * std::sin(angle);
    head[pair + half] = b * std::cos(angle) + a * std::sin(angle);
  }
}

std::vector<double> normed(const Matrix& x, std::int64_t row, const Vector& gains, double epsilon) {
  std::vector<double> values(x.row(row).begin(), x.row(row).end());
  norm_in_place(gains, epsilon, values.data());
  return values;
}

// Applies the norm, if there is one, and the rotation for `position` to the heads of one row.
void place_heads(const ModelShape& shape, const Vector& gains, std::int64_t position,
                 std::span<double> heads) {
  for (double* head = heads.data(); head < heads.data() + heads.size(); head += shape.head_dim) {
    if (gains.size() != 0) norm_in_place(gains, shape.norm_epsilon, head);
    rotate_in_place(shape, position, head);
  }
}

std::span<double> row_of(Matrix& matrix, std::int64_t row) {
  const auto size = static_cast<std::size_t>(matrix.cols());
  return {matrix.data() + row * matrix.cols(), size};
}

}  // namespace

Matrix HostModel::embed(std::span<const Token> tokens) const {
  Matrix x(std::ssize(tokens), weights_.shape.hidden);
  for (std::int64_t row = 0; row < x.rows(); ++row) {
    x.row(row) = weights_.embedding.row(tokens[static_cast<std::size_t>(row)]);
  }
  return x;
}

ProjectedRows HostModel::project(std::int64_t index, const Matrix& x,
                                 std::span<const std::int64_t> positions) const {
  const ModelShape& shape = weights_.shape;
  const LayerWeights& weights = layer(index);
  ProjectedRows result{Matrix::Zero(x.rows(), shape.q_size()),
                       Matrix::Zero(x.rows(), shape.kv_size()),
                       Matrix::Zero(x.rows(), shape.kv_size())};
  for (std::int64_t row = 0; row < x.rows(); ++row) {
    const std::int64_t position = positions[static_cast<std::size_t>(row)];
    const std::vector<double> input = normed(x, row, weights.attention_norm, shape.norm_epsilon);
    add_product(weights.q, input.data(), row_of(result.q, row).data());
    add_product(weights.k, input.data(), row_of(result.k, row).data());
    add_product(weights.v, input.data(), row_of(result.v, row).data());
    place_heads(shape, weights.q_norm, position, row_of(result.q, row));
    place_heads(shape, weights.k_norm, position, row_of(result.k, row));
  }
  return result;
}

void HostModel::finish_layer(std::int64_t index, const Matrix& attention, Matrix& x) const {
  const ModelShape& shape = weights_.shape;
  const LayerWeights& weights = layer(index);
  for (std::int64_t row = 0; row < x.rows(); ++row) {
    double* stream = row_of(x, row).data();
    add_product(weights.o, attention.data() + row * attention.cols(), stream);
    const std::vector<double> input = normed(x, row, weights.ffn_norm, shape.norm_epsilon);
    std::vector<double> gate(static_cast<std::size_t>(shape.ffn));
    std::vector<double> up(gate.size());
    add_product(weights.gate, input.data(), gate.data());
    add_product(weights.up, input.data(), up.data());
    for (std::size_t i = 0; i < up.size(); ++i) up[i] *= gate[i] / (1 + std::exp(-gate[i]));
    add_product(weights.down, up.data(), stream);
  }
}

Vector HostModel::logits(const Matrix& x, std::int64_t row) const {
  const std::vector<double> input =
      normed(x, row, weights_.final_norm, weights_.shape.norm_epsilon);
  Vector logits = Vector::Zero(weights_.shape.vocabulary);
  add_product(weights_.head, input.data(), logits.data());
  return logits;
}

}  // namespace recto::verify
