#include "experiments/support/run.h"

#include <array>

#include "bazel/testing/catch.h"

namespace recto::experiments {
namespace {

TEST_CASE("Student's t matches published tables") {
  CHECK(student_t(1) == Catch::Approx(12.706));
  CHECK(student_t(9) == Catch::Approx(2.262));
  CHECK(student_t(30) == Catch::Approx(2.042));
  CHECK(student_t(40) == Catch::Approx(2.0211).margin(1e-3));
  CHECK(student_t(120) == Catch::Approx(1.9799).margin(1e-3));
  for (int n = 1; n < 200; ++n) CHECK(student_t(n) > student_t(n + 1));
}

TEST_CASE("a textbook sample has its known mean and interval") {
  const std::array values{2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0};
  const MeanInterval interval = mean_with_interval(values);
  CHECK(interval.mean == Catch::Approx(5));
  // Deviation sqrt(32 / 7), t(7) = 2.365.
  CHECK(interval.half_width == Catch::Approx(2.365 * 2.13809 / 2.828427).epsilon(1e-5));
  CHECK(mean_with_interval(std::array{3.0}).half_width == 0);
}

}  // namespace
}  // namespace recto::experiments
