#include "reference/coherence.h"

#include <vector>

#include "bazel/testing/catch.h"

namespace recto::reference {
namespace {

constexpr Accumulation kToNearest{};
constexpr Accumulation kCut{.rounding = AccumulatorRounding::kTruncate};

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

TEST_CASE("equal addends drift by a rounding error each, spread addends hardly at all") {
  const std::vector<double> alike(1024, 1.0 + 0.3 * 0x1p-14);  // partial sums up to 1024: ulp 2^-14
  CHECK(rounding_drift(alike, kToNearest) == Approx(1024 * 0.3 * 0x1p-14).epsilon(0.7));
  std::vector<double> spread;
  for (int term = 0; term < 1024; ++term) spread.push_back(1.0 + term * 0.37 * 0x1p-14);
  CHECK(rounding_drift(spread, kToNearest) < 0.05 * rounding_drift(alike, kToNearest));
  CHECK(rounding_drift(std::vector<double>(64, 1.0), kToNearest) == 0);  // exact
  CHECK(rounding_drift({}, kToNearest) == 0);
}

// Partial sums up to 1024 have ulps of 2^-13. Terms that lie 0.4 of an eighth of that above its
// multiples are all rounded down at that ulp; at larger ulps, as many are rounded up as down.
TEST_CASE("the search for drift ends at an eighth of the largest ulp") {
  const double eighth = 0x1p-16;
  const auto drift = [](double spacing) {
    std::vector<double> terms;
    for (int term = 0; term < 64; ++term) terms.push_back(16 + (term % 16 + 0.4) * spacing);
    return rounding_drift(terms, kToNearest);
  };
  CHECK(drift(eighth) == Approx(64 * 0.4 * eighth));
  // At a sixteenth, which is not searched, they would all be rounded down.
  CHECK(drift(eighth / 2) == Approx(64 * 0.1 * eighth / 2));
}

TEST_CASE("an infinite sum has no rounding drift") {
  const Accumulation coarse{.unit_roundoff = 0.5};
  CHECK(rounding_drift(std::vector<double>{0.3}, coarse) > 0);
  CHECK(rounding_drift(std::vector<double>{0x1p1022, 0x1p1022, 0x1p1022, 0x1p1022, 0.3}, coarse) ==
        0);
}

TEST_CASE("truncated terms just below a multiple of the ulp drift by almost one ulp each") {
  const std::vector<double> below(1023, 1.0 + 2.9 * 0x1p-14);  // partial sums below 1024: ulp 2^-14
  CHECK(rounding_drift(below, kCut) == Approx(1023 * 0.9 * 0x1p-14));
  CHECK(rounding_drift(below, kToNearest) < 0.2 * rounding_drift(below, kCut));
  const std::vector<double> above(1023, 1.0 + 3.0 * 0x1p-14);
  CHECK(rounding_drift(above, kCut) == 0);
  // Truncation towards zero: the losses of terms of both signs cancel.
  std::vector<double> both;
  for (int pair = 0; pair < 512; ++pair) both.insert(both.end(), {below[0], -below[0]});
  CHECK(rounding_drift(both, kCut) == 0);
}

}  // namespace
}  // namespace recto::reference
