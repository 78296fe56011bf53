#include "reference/truncated_sum.h"

#include <cmath>
#include <limits>
#include <vector>

#include "bazel/testing/catch.h"

namespace recto::reference {
namespace {

float add(float accumulator, const std::vector<double>& products) {
  return truncated_sum(accumulator, products);
}

TEST_CASE("a sum that fits in 24 bits is exact") {
  CHECK(add(1.0F, {2.0, 3.0}) == 6.0F);
  CHECK(add(0.0F, {0x1p-23, 1.0}) == 1.0F + 0x1p-23F);
  CHECK(add(0.0F, {}) == 0.0F);
  CHECK(add(-1.0F, {1.0}) == 0.0F);
}

TEST_CASE("each term loses the bits below the largest term's last place") {
  CHECK(add(1.0F, {0x1.8p-24}) == 1.0F);  // to nearest would be 1 + 2^-23
  CHECK(add(1.0F, {0x1.8p-24, 0x1.8p-24}) == 1.0F);
  CHECK(add(1.0F, {0x1.8p-23, 0x1.8p-23}) == 1.0F + 0x1p-22F);
  CHECK(add(-1.0F, {-0x1.8p-24}) == -1.0F);  // towards zero
}

TEST_CASE("the result is truncated once more") {
  CHECK(add(1.0F, {1.0, 0x1p-23}) == 2.0F);
  CHECK(add(1.0F, {1.0, 0x1p-22}) == 2.0F + 0x1p-22F);
  CHECK(add(1.0F, {1.0, 0x1.8p-22}) == 2.0F + 0x1p-22F);  // to nearest would be 2 + 2^-21
}

TEST_CASE("subnormal results keep the bits that fp32 can hold") {
  CHECK(add(0.0F, {0x1p-149}) == 0x1p-149F);
  CHECK(add(0.0F, {0x1.8p-149}) == 0x1p-149F);
}

TEST_CASE("infinity and NaN reach the result") {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  CHECK(add(1.0F, {kInfinity}) == std::numeric_limits<float>::infinity());
  CHECK(std::isnan(add(1.0F, {kInfinity, -kInfinity})));
  CHECK(std::isnan(add(1.0F, {std::numeric_limits<double>::quiet_NaN()})));
}

}  // namespace
}  // namespace recto::reference
