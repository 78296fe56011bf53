// Checks the charges in out for the sum of weights against figures worked out by hand.

#include "reference/output_error.h"

#include <cmath>
#include <cstdint>

#include "bazel/testing/catch.h"
#include "reference/error_bound.h"

namespace recto::reference {
namespace {

constexpr double kUnit = 0x1p-10;

// Only the sum of weights rounds. Tiles have one key.
KernelNumerics only_weights_summed() {
  KernelNumerics numerics{.unit_roundoff = 0, .underflow = 0};
  numerics.score_sum.unit_roundoff = numerics.output_sum.unit_roundoff = 0;
  numerics.tanh_relative = numerics.log_relative = 0;
  numerics.exponential = {.relative = 0, .relative_slope = 0, .flush = 0};
  numerics.weight_sum.unit_roundoff = kUnit;
  return numerics;
}

// The bound for keys with scores 0 and values 1, whose output is 1.
double worst_case_bound(std::int64_t keys, const KernelNumerics& numerics) {
  const Matrix zero = Matrix::Zero(1, 1);
  const Matrix k = Matrix::Zero(keys, 1);
  const Matrix v = Matrix::Ones(keys, 1);
  const HeadOutput exact = dense_attention({zero, k, v}, {});
  return HeadErrorModel(k, v, numerics).bound(zero, {}, exact).worst_case(0, 0);
}

// 1 / (1 - error) - 1 for a sum of weights that passes this many roundings.
double quotient_error(int roundings) {
  const double error = std::pow(1 + kUnit, roundings) - 1;
  return error / (1 - error);
}

TEST_CASE("the output has the error of its division by the rounded sum of weights") {
  // One key: its own addition, the addition of its tile, and that of a tile that might precede it.
  CHECK(worst_case_bound(1, only_weights_summed()) == Approx(quotient_error(1 + 2)));
}

TEST_CASE("normalised splits cost two roundings more than states, a single split none") {
  KernelNumerics state = only_weights_summed();
  KernelNumerics normalised = state;
  normalised.split_merge = SplitMerge::kNormalised;
  CHECK(worst_case_bound(1, normalised) == worst_case_bound(1, state));
  // Two splits: adding them, and one rescaling.
  state.split_size = normalised.split_size = 1;
  CHECK(worst_case_bound(2, state) == Approx(quotient_error(1 + 2 + 2 + 1)));
  CHECK(worst_case_bound(2, normalised) == Approx(quotient_error(1 + 2 + 2 + 1 + 2)));
}

}  // namespace
}  // namespace recto::reference
