#include "verify/engine/testing/rounding_flow.h"

#include <cmath>

#include "bazel/testing/catch.h"
#include "core/random_stream.h"
#include "reference/rounding.h"

namespace recto::verify {
namespace {

using reference::Matrix;
using reference::Vector;

constexpr std::int64_t kSamples = 4000;

// The sum of twelve uniform numbers, which has a standard deviation of 1.
double draw_normal(RandomStream& stream) {
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += stream.next_unit();
  return sum;
}

Flow drawn_flow(std::int64_t size, double deviation, std::uint64_t seed) {
  RandomStream stream(seed);
  Flow flow{Matrix(1, size), Matrix(1, size)};
  for (std::int64_t i = 0; i < size; ++i) {
    flow.value(0, i) = 2 * draw_normal(stream);
    flow.deviation(0, i) = deviation * (0.5 + stream.next_unit());
  }
  return flow;
}

// Applies the step to numbers with random errors of the given deviations.
template <typename Step>
void check_deviations(const std::vector<Flow>& inputs, const Step& step, double least) {
  const Flow told = step(inputs);
  Matrix squares = Matrix::Zero(told.value.rows(), told.value.cols());
  RandomStream stream(99);
  for (std::int64_t sample = 0; sample < kSamples; ++sample) {
    std::vector<Flow> moved;
    for (const Flow& input : inputs) {
      Flow each{input.value, {}};
      for (std::int64_t i = 0; i < each.value.size(); ++i) {
        each.value.data()[i] += input.deviation.data()[i] * draw_normal(stream);
      }
      moved.push_back(each);
    }
    squares += (step(moved).value - told.value).cwiseAbs2();
  }
  const Matrix seen = (squares / static_cast<double>(kSamples)).cwiseSqrt();
  for (std::int64_t i = 0; i < seen.size(); ++i) {
    // The propagated deviation covers the observed one, and is not much larger.
    CHECK(told.deviation.data()[i] > 0.93 * seen.data()[i]);
    CHECK(least * told.deviation.data()[i] < seen.data()[i]);
  }
}

TEST_CASE("deviations match errors that are passed through each operation of a step") {
  RandomStream stream(5);
  Matrix weights(6, 12);
  for (std::int64_t i = 0; i < weights.size(); ++i) weights.data()[i] = draw_normal(stream);
  check_deviations(
      {drawn_flow(12, 1e-3, 1)},
      [&](const std::vector<Flow>& in) { return linear(in[0], weights); }, 0.9);
  check_deviations(
      {drawn_flow(12, 1e-3, 1), drawn_flow(12, 1e-3, 2)},
      [](const std::vector<Flow>& in) { return add(in[0], in[1]); }, 0.9);
  check_deviations(
      {drawn_flow(12, 1e-3, 1), drawn_flow(12, 1e-3, 2)},
      [](const std::vector<Flow>& in) { return swiglu(in[0], in[1]); }, 0.9);
  const Vector gains = Vector::LinSpaced(6, 0.5, 2);
  check_deviations(
      {drawn_flow(12, 1e-3, 1)},
      [&](const std::vector<Flow>& in) { return rms_norm(in[0], gains, 1e-5); }, 0.3);
}

TEST_CASE(
    "an error that crosses no rounding boundary disappears, and one that does is a whole step") {
  // Codes above 1 are 1/8 apart; 1.0625 is a rounding boundary.
  Flow x{Matrix::Constant(1, 3, 1.05), Matrix::Constant(1, 3, 0.0)};
  x.deviation(0, 1) = 0.0125 / kFlowLambda * 0.99;
  x.deviation(0, 2) = 0.0125 / kFlowLambda * 1.01;
  const Flow stored = store(x, ElementType::kE4m3);
  CHECK(stored.value == Matrix::Constant(1, 3, 1.0));
  CHECK(stored.deviation(0, 0) == 0);
  CHECK(stored.deviation(0, 1) == 0);
  CHECK(stored.deviation(0, 2) == 0.125);
}

TEST_CASE("numbers whose errors are not followed have no deviations") {
  const Flow x = exact_flow(Matrix::Constant(2, 4, 1.0), Following::kNo);
  CHECK_FALSE(x.is_followed());
  CHECK_FALSE(add(x, x).is_followed());
  CHECK_FALSE(linear(x, Matrix::Identity(4, 4)).is_followed());
  CHECK(exact_flow(Matrix::Constant(2, 4, 1.0), Following::kYes).is_followed());
}

}  // namespace
}  // namespace recto::verify
