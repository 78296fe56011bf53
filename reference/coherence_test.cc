#include "reference/coherence.h"

#include <vector>

#include "bazel/testing/catch.h"

namespace recto::reference {
namespace {

TEST_CASE("the most frequent magnitude is counted") {
  CHECK(multiplicity({}) == 0);
  CHECK(multiplicity(std::vector<double>{1.5}) == 1);
  CHECK(multiplicity(std::vector<double>{1, 2, 3, 4}) == 1);
  CHECK(multiplicity(std::vector<double>{1, 2, 1, -1, 2}) == 3);
  CHECK(multiplicity(std::vector<double>{0.0, -0.0}) == 2);
}

TEST_CASE("values that differ in the last bit are different") {
  CHECK(multiplicity(std::vector<double>{1.0, 1.0 + 0x1p-52}) == 1);
}

TEST_CASE("alike addends drift by one rounding each, random ones hardly") {
  constexpr double kUnit = 0x1p-24;
  const std::vector<double> alike(1024, 1.0 + 0.3 * 0x1p-14);  // partial sums up to 1024: ulp 2^-14
  CHECK(rounding_drift(alike, kUnit) == Approx(1024 * 0.3 * 0x1p-14).epsilon(0.7));
  std::vector<double> spread;
  for (int term = 0; term < 1024; ++term) spread.push_back(1.0 + term * 0.37 * 0x1p-14);
  CHECK(rounding_drift(spread, kUnit) < 0.05 * rounding_drift(alike, kUnit));
  CHECK(rounding_drift(std::vector<double>(64, 1.0), kUnit) == 0);  // exact
  CHECK(rounding_drift({}, kUnit) == 0);
}

}  // namespace
}  // namespace recto::reference
