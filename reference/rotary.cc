#include "reference/rotary.h"

#include <cmath>

#include "core/contract.h"

namespace recto::reference {
namespace {

struct DimPair {
  std::int64_t first = 0;
  std::int64_t second = 0;
};

DimPair dims_of_pair(const RotaryOptions& options, std::int64_t pair) {
  if (options.pairing == RotaryPairing::kInterleaved) return {2 * pair, 2 * pair + 1};
  return {pair, pair + options.rotary_dim / 2};
}

double angle_of(const RotaryOptions& options, std::int64_t position, std::int64_t pair) {
  const double exponent =
      -2.0 * static_cast<double>(pair) / static_cast<double>(options.rotary_dim);
  return static_cast<double>(position) * std::pow(options.base, exponent);
}

void check_options(const Matrix& rows, const RotaryOptions& options) {
  RECTO_CHECK_EQ(options.rotary_dim % 2, 0);
  RECTO_CHECK(0 <= options.rotary_dim && options.rotary_dim <= rows.cols());
  RECTO_CHECK_GE(options.base, 1.0);
}

// Magnitudes of a pair: |x| |cos| + |y| |sin|, and |x| + |y|.
struct PairMagnitude {
  double terms = 0.0;
  double inputs = 0.0;
};

// computed - rotate()| before the result is rounded to its type; derived in docs/numerics.md.
double error_before_output(const PairMagnitude& pair, double angle, double log_base,
                           const RotaryNumerics& numerics) {
  constexpr double kUnit = 0x1p-24;
  constexpr double kTwoRoundings = 2 * kUnit / (1 - 2 * kUnit);
  constexpr double kOwnUnit = 0x1p-53;
  const double tables = numerics.table_error * pair.inputs;
  const double arithmetic =
      kTwoRoundings * (pair.terms + tables) + 3 * numerics.underflow;  // two products, their sum
  const double own = ((log_base + 4) * std::abs(angle) + 5) * kOwnUnit * pair.inputs;
  return tables + arithmetic + own;
}

}  // namespace

Matrix rotate(const Matrix& rows, std::int64_t first_position, const RotaryOptions& options) {
  check_options(rows, options);
  Matrix rotated = rows;
  for (std::int64_t row = 0; row < rows.rows(); ++row) {
    for (std::int64_t pair = 0; pair < options.rotary_dim / 2; ++pair) {
      const double angle = angle_of(options, first_position + row, pair);
      const auto [first, second] = dims_of_pair(options, pair);
      const double x = rows(row, first);
      const double y = rows(row, second);
      rotated(row, first) = x * std::cos(angle) - y * std::sin(angle);
      rotated(row, second) = y * std::cos(angle) + x * std::sin(angle);
    }
  }
  return rotated;
}

Matrix rotary_bound(const Matrix& rows, std::int64_t first_position, const RotaryOptions& options,
                    const RotaryNumerics& numerics) {
  const Matrix rotated = rotate(rows, first_position, options);
  const double log_base = std::log(options.base);
  Matrix before = Matrix::Zero(rows.rows(), rows.cols());
  for (std::int64_t row = 0; row < rows.rows(); ++row) {
    for (std::int64_t pair = 0; pair < options.rotary_dim / 2; ++pair) {
      const double angle = angle_of(options, first_position + row, pair);
      const double cosine = std::abs(std::cos(angle));
      const double sine = std::abs(std::sin(angle));
      const auto [first, second] = dims_of_pair(options, pair);
      const double x = std::abs(rows(row, first));
      const double y = std::abs(rows(row, second));
      before(row, first) = error_before_output({.terms = x * cosine + y * sine, .inputs = x + y},
                                               angle, log_base, numerics);
      before(row, second) = error_before_output({.terms = y * cosine + x * sine, .inputs = x + y},
                                                angle, log_base, numerics);
    }
  }
  // The output rounds the computed value, which may exceed the exact one by `before`.
  return before.array() + numerics.output_roundoff * (rotated.array().abs() + before.array()) +
         numerics.output_underflow;
}

}  // namespace recto::reference
