#include "verify/ptx/arithmetic/comparison.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "bazel/testing/catch.h"

namespace recto::ptx {
namespace {

// In ascending order, -0 below +0.
const std::vector<float> kAscending = {-INFINITY, -2.0F,  -1e-40F, -0.0F,
                                       0.0F,      1e-40F, 2.0F,    INFINITY};
constexpr FloatMode kNanWins = {.number_wins = false};

template <typename T>
T min(T a, T b, const FloatMode& mode) {
  return extreme(Extreme::kMin, a, b, mode);
}
template <typename T>
T max(T a, T b, const FloatMode& mode) {
  return extreme(Extreme::kMax, a, b, mode);
}

std::uint32_t f16_of(float x) { return narrowed<kF16>(x, {}); }

}  // namespace

TEST_CASE("min and max order numbers, with -0 below +0") {
  for (std::size_t i = 0; i < kAscending.size(); ++i) {
    for (std::size_t j = 0; j < kAscending.size(); ++j) {
      const float a = kAscending[i];
      const float b = kAscending[j];
      const float low = kAscending[std::min(i, j)];
      const float high = kAscending[std::max(i, j)];
      for (const FloatMode& mode : {FloatMode{}, kNanWins}) {
        CHECK(bits_of(min(a, b, mode)) == bits_of(low));
        CHECK(bits_of(max(a, b, mode)) == bits_of(high));
        CHECK(bits_of(min(double{a}, double{b}, mode)) == bits_of(double{low}));
        CHECK(bits_of(max(double{a}, double{b}, mode)) == bits_of(double{high}));
      }
      CHECK(extreme<kF16>(Extreme::kMin, f16_of(a), f16_of(b), {}) ==
            std::min(f16_of(low), f16_of(low)));
      CHECK(extreme<kF16>(Extreme::kMax, f16_of(a), f16_of(b), {}) == f16_of(high));
    }
  }
}

TEST_CASE("min and max give the number if one operand is NaN, unless .NaN is given") {
  const float nan = float_of(0xffc01234);
  CHECK(min(nan, 1.0F, {}) == 1);
  CHECK(max(1.0F, nan, {}) == 1);
  CHECK(bits_of(max(nan, nan, {})) == kNan32);
  CHECK(bits_of(min(nan, 1.0F, kNanWins)) == kNan32);
  CHECK(bits_of(max(1.0F, nan, kNanWins)) == kNan32);
  CHECK(max(1.0, double{NAN}, {}) == 1);
  CHECK(bits_of(min(double{NAN}, double{NAN}, {})) == kNan64);
  CHECK(extreme<kBf16>(Extreme::kMax, 0xffc1, 0x3f80, {}) == 0x3f80);
  CHECK(extreme<kBf16>(Extreme::kMax, 0xffc1, 0x3f80, kNanWins) == 0x7fff);
  CHECK(extreme<kF16>(Extreme::kMin, 0x7e01, 0xfe01, {}) == 0x7fff);
}

TEST_CASE("min and max flush with .ftz") {
  CHECK(bits_of(max(-1e-40F, -1.0F, {.flush = true})) == 0x80000000);
  CHECK(max(-1e-40F, -1.0F, {}) == -1e-40F);
  CHECK(extreme<kF16>(Extreme::kMax, 1, 0, {.flush = true}) == 0);
  CHECK(extreme<kF16>(Extreme::kMax, 1, 0, {}) == 1);
}

TEST_CASE("comparisons are ordered or unordered") {
  using enum Comparison;
  struct Row {
    Comparison comparison;
    // For a < b, a == b, a > b and NaN.
    bool less, equal, greater, nan;
  };
  for (const Row& row : std::vector<Row>{{kEq, false, true, false, false},
                                         {kNe, true, false, true, false},
                                         {kLt, true, false, false, false},
                                         {kLe, true, true, false, false},
                                         {kGt, false, false, true, false},
                                         {kGe, false, true, true, false},
                                         {kEqu, false, true, false, true},
                                         {kNeu, true, false, true, true},
                                         {kLtu, true, false, false, true},
                                         {kLeu, true, true, false, true},
                                         {kGtu, false, false, true, true},
                                         {kGeu, false, true, true, true},
                                         {kNum, true, true, true, false},
                                         {kNan, false, false, false, true}}) {
    INFO("comparison " << static_cast<int>(row.comparison));
    CHECK(compare(row.comparison, 1.0F, 2.0F) == row.less);
    CHECK(compare(row.comparison, 0.0F, -0.0F) == row.equal);
    CHECK(compare(row.comparison, INFINITY, 2.0F) == row.greater);
    CHECK(compare(row.comparison, NAN, 2.0F) == row.nan);
    CHECK(compare(row.comparison, 2.0, double{NAN}) == row.nan);
    CHECK(compare(row.comparison, -1, 1) == row.less);
    CHECK(compare(row.comparison, 0xffffffffU, 1U) == row.greater);
  }
}

TEST_CASE("numbers are classified") {
  using enum FloatClass;
  const auto classes = [](auto x) {
    unsigned set = 0;
    for (const FloatClass which : {kFinite, kInfinite, kNumber, kNotANumber, kNormal, kSubnormal}) {
      set |= static_cast<unsigned>(is_of(which, x)) << static_cast<unsigned>(which);
    }
    return set;
  };
  constexpr unsigned kIsFinite = 1;
  constexpr unsigned kIsNumber = 4;
  constexpr unsigned kIsNormal = 16;
  CHECK(classes(-0.0F) == (kIsFinite | kIsNumber | kIsNormal));
  CHECK(classes(-1e-40F) == (kIsFinite | kIsNumber | 32));
  CHECK(classes(1e-310) == (kIsFinite | kIsNumber | 32));
  CHECK(classes(-INFINITY) == (kIsNumber | 2));
  CHECK(classes(-NAN) == 8);
  CHECK(classes(double{NAN}) == 8);
  CHECK(classes(std::numeric_limits<float>::min()) == (kIsFinite | kIsNumber | kIsNormal));
}

TEST_CASE("copysign gives the second operand the first one's sign") {
  CHECK(copysign(-1.0F, 2.0F) == -2);
  CHECK(copysign(1.0, -2.0) == 2);
  CHECK(bits_of(copysign(-0.0F, NAN)) == (bits_of(NAN) | 0x80000000));
}

}  // namespace recto::ptx
