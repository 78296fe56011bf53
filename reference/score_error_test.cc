// Checks the charges for scores against figures worked out by hand.

#include "reference/score_error.h"

#include <cmath>
#include <cstdint>

#include "bazel/testing/catch.h"

namespace recto::reference {
namespace {

constexpr double kUnit = 0x1p-24;

// One key of one dim, without any rounding.
constexpr KernelNumerics kExact{.unit_roundoff = 0,
                                .underflow = 0,
                                .score_sum = {.unit_roundoff = 0},
                                .softcap_roundings = 0,
                                .tanh_relative = 0};

ScoreErrors of_one_key(double q, double k, const HeadOptions& options,
                       const KernelNumerics& numerics, std::int64_t distance = 0) {
  const Matrix keys = Matrix::Constant(1, 1, k);
  const Vector coherence = Vector::Ones(1);
  return score_errors(Matrix::Constant(1, 1, q), {keys, coherence, distance}, options, numerics);
}

TEST_CASE("four roundings of a score deviate by two units, and err by at most four") {
  KernelNumerics numerics = kExact;
  CHECK(of_one_key(2, 3, {}, numerics).deviation[0] == 0);
  numerics.unit_roundoff = kUnit;
  numerics.score_roundings = 4;
  const ScoreErrors errors = of_one_key(2, 3, {}, numerics);
  CHECK(errors.scores[0] == 6);
  CHECK(errors.deviation[0] == Approx(2 * kUnit * 6));
  CHECK(errors.worst_case[0] == Approx(4 * kUnit * 6).epsilon(1e-6));
  CHECK(errors.systematic[0] == 0);
}

// A key two tokens before the row, with a slope of 2: a bias of -4 on a score of 6.
TEST_CASE("a bias is rounded as often as declared, and its sum with the score once") {
  KernelNumerics numerics = kExact;
  numerics.unit_roundoff = kUnit;
  numerics.score_roundings = 0;
  numerics.bias_roundings = 0;
  const auto errors = [&] { return of_one_key(2, 3, {.alibi_slope = 2}, numerics, -2); };
  CHECK(errors().scores[0] == 2);
  CHECK(errors().deviation[0] == Approx(kUnit * 2));
  CHECK(errors().worst_case[0] == Approx(kUnit * 2).epsilon(1e-6));
  numerics.bias_roundings = 3;
  CHECK(errors().deviation[0] == Approx(kUnit * std::sqrt(3 * 4 * 4 + 2 * 2)));
  CHECK(errors().worst_case[0] == Approx(kUnit * (3 * 4 + 2)).epsilon(1e-6));
}

// The derivative of tanh is the square of 1 / cosh.
TEST_CASE("a softcap shrinks an error as the slope of tanh is") {
  KernelNumerics numerics = kExact;
  numerics.input_flush = 1e-9;  // of q and of k
  CHECK(of_one_key(1, 1, {}, numerics).systematic[0] == Approx(2e-9));
  const ScoreErrors capped = of_one_key(1, 1, {.softcap = 1}, numerics);
  CHECK(capped.scores[0] == Approx(0.7615941559557649));  // tanh 1
  CHECK(capped.systematic[0] == Approx(2e-9 * 0.41997434161402614));
  CHECK(capped.worst_case[0] == Approx(2e-9 * 0.41997434161402614));
}

}  // namespace
}  // namespace recto::reference
