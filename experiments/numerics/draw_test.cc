#include "experiments/numerics/draw.h"

#include <cmath>
#include <limits>

#include "bazel/testing/catch.h"
#include "core/contract.h"
#include "reference/low_precision_attention.h"
#include "reference/paged_attention.h"
#include "reference/rounding.h"

namespace recto::experiments {
namespace {

const StudyTypes kTypes[] = {ElementType::kFp32,
                             ElementType::kFp16,
                             ElementType::kBf16,
                             {ElementType::kFp16, ElementType::kE4m3}};

Row exact_out(const PagedAttentionInputs& inputs) {
  const reference::AttentionResult result = reference::paged_attention(inputs);
  return Eigen::Map<const Row>(result.out.data(), result.head_dim);
}

Row row(double a, double b) { return (Row(2) << a, b).finished(); }

TEST_CASE("the planted key has the requested weight up to rounding") {
  for (const StudyTypes& type : kTypes) {
    DecodeProblem problem(type, 300, RandomStream(1));
    const double drawn = problem.last_weight();
    for (const double weight : {1e-6, 1e-3, 0.5, 0.99}) {
      problem.plant_last_key(weight);
      const double odds = problem.last_weight() / (1 - problem.last_weight());
      // The score, at most 15 here, is off by a unit roundoff at most.
      const double slack = 15 * reference::unit_roundoff(type.kv);
      CHECK(std::abs(std::log(odds * (1 - weight) / weight)) < slack);
    }
    problem.restore_last_key();
    CHECK(problem.last_weight() == drawn);
  }
}

TEST_CASE("the views hold the values of the matrices, the planted key included") {
  for (const StudyTypes& type : kTypes) {
    DecodeProblem problem(type, 40, RandomStream(2));
    problem.plant_last_key(0.1);
    const reference::HeadOutput dense =
        reference::dense_attention({problem.q(), problem.k(), problem.v()}, problem.head_options());
    CHECK(exact_out(problem.inputs()) == dense.out.row(0));
    CHECK(std::abs(problem.k().mean()) < 0.1);
    CHECK(std::abs(problem.k().squaredNorm() / static_cast<double>(problem.k().size()) - 1) < 0.1);
  }
}

TEST_CASE("faults move the exact result as their direction says") {
  constexpr double kWeight = 0.01;
  DecodeProblem problem(ElementType::kFp32, 50, RandomStream(3));
  Draw draw(ElementType::kFp32, 50, RandomStream(3));
  const double weight = draw.prepare(Fault::kDroppedKey, kWeight);
  problem.plant_last_key(kWeight);
  CHECK(weight == problem.last_weight());
  const auto moved = [&problem](const PagedAttentionInputs& wrong) -> Row {
    return exact_out(wrong) - exact_out(problem.inputs());
  };
  const auto check_near = [](const Row& found, const Row& expected, double relative) {
    CHECK((found - expected).norm() < relative * expected.norm());
    CHECK(expected.norm() > 0);
  };
  check_near(moved(problem.without_last_key()), weight * draw.direction(Fault::kDroppedKey), 1e-12);
  check_near(moved(problem.with_swapped_value()), weight * draw.direction(Fault::kSwappedValue),
             1e-12);
  problem.restore_last_key();
  const double error = draw.prepare(Fault::kScaleError, 1e-4);
  CHECK(std::abs(error - 1e-4) < 0x1p-23);
  check_near(moved(problem.with_scale_error(1e-4)), error * draw.direction(Fault::kScaleError),
             1e-3);
}

TEST_CASE("a fault is refused from its smallest refused size on, and not just below it") {
  const Row error = row(0.5, -0.5);
  const Row allowed = row(1, 1);
  for (const Row& direction : {row(2, 1), row(-2, 1), row(2, -1), row(0, 1)}) {
    const double size = smallest_refused(error, direction, allowed);
    CHECK_FALSE(is_refused(error + 0.999 * size * direction, allowed));
    CHECK(is_refused(error + 1.001 * size * direction, allowed));
  }
  CHECK(smallest_refused(row(1.01, 0), row(0, 1), allowed) == 0);
  CHECK(smallest_refused(row(1, 0), row(1, 0), allowed) == 0);
  CHECK(std::isinf(smallest_refused(error, row(0, 0), allowed)));
  CHECK(is_refused(row(0, std::numeric_limits<double>::quiet_NaN()), allowed));
}

TEST_CASE("the right kernel is within both bounds, a grossly wrong one within neither") {
  for (const StudyTypes& type : kTypes) {
    Draw draw(type, 200, RandomStream(4));
    draw.prepare(Fault::kDroppedKey, 0.3);
    for (const Judge judge : {Judge::kProbabilistic, Judge::kWorstCase}) {
      CHECK_FALSE(is_refused(draw.right_errors().out, draw.allowed(judge)));
      CHECK(is_refused(draw.faulty_error(Fault::kDroppedKey, 0.3), draw.allowed(judge)));
      CHECK(is_refused(draw.faulty_error(Fault::kSwappedValue, 0.3), draw.allowed(judge)));
    }
    draw.prepare(Fault::kScaleError, 0.9);
    CHECK(is_refused(draw.faulty_error(Fault::kScaleError, 0.9), draw.allowed(Judge::kWorstCase)));
    CHECK(draw.faulty_error(Fault::kScaleError, 0) == draw.right_errors().out);
  }
}

TEST_CASE("bounds depend on the key planted last, and not on earlier ones") {
  const auto planted = [](double first) {
    Draw draw(ElementType::kBf16, 100, RandomStream(5));
    draw.prepare(Fault::kDroppedKey, first);
    draw.allowed(Judge::kProbabilistic);
    draw.prepare(Fault::kDroppedKey, 0.2);
    return draw.allowed(Judge::kProbabilistic);
  };
  CHECK(planted(0.01) == planted(0.2));
  Draw draw(ElementType::kBf16, 100, RandomStream(5));
  const Row drawn = draw.allowed(Judge::kProbabilistic);
  draw.prepare(Fault::kDroppedKey, 0.2);
  CHECK(draw.allowed(Judge::kProbabilistic) != drawn);
  draw.prepare(Fault::kScaleError, 0.1);
  CHECK(draw.allowed(Judge::kProbabilistic) == drawn);
}

TEST_CASE("the factor-two rule allows twice the plain run's largest error, the fixed rule 1e-3") {
  const DecodeProblem problem(ElementType::kBf16, 100, RandomStream(6));
  const reference::AttentionResult plain = reference::low_precision_attention(problem.inputs(), {});
  const Row error = Eigen::Map<const Row>(plain.out.data(), kHeadDim) - exact_out(problem.inputs());
  Draw draw(ElementType::kBf16, 100, RandomStream(6));
  CHECK(draw.allowed(Judge::kFactorTwo) ==
        Row::Constant(kHeadDim, 2 * error.lpNorm<Eigen::Infinity>()));
  CHECK(draw.allowed(Judge::kFixed) == Row::Constant(kHeadDim, 1e-3));
}

TEST_CASE("a problem has two keys at least, and a weight lies between 0 and 1") {
  CHECK_THROWS_AS(DecodeProblem(ElementType::kFp32, 1, RandomStream(1)), ContractFailure);
  DecodeProblem problem(ElementType::kFp32, 2, RandomStream(1));
  CHECK_THROWS_AS(problem.plant_last_key(0), ContractFailure);
  CHECK_THROWS_AS(problem.plant_last_key(1), ContractFailure);
}

}  // namespace
}  // namespace recto::experiments
